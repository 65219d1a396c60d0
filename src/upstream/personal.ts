/**
 * A backend to which each principal presents something of their own: to each it is a backend of its own, with its own state,
 * lists and sessions, so that one who is refused is refused alone. The connections are shared.
 */
import { Failure } from '../errors/failure.ts';
import type { Backend, BackendState, Discovery, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { GatewayRoute } from '../wire/via.ts';
import type { TimerClock } from './deadlines.ts';
import { outOfService } from './health.ts';
import type { BackendNotes } from './notes.ts';

export interface OwnBackend extends Backend {
  /** Nothing is under way: it can be closed and opened again without anybody noticing. */
  readonly isIdle: boolean;
  /** Who hears of its changes. */
  readonly hearers: number;
}

export interface PersonalOptions {
  readonly name: string;
  /** As one principal uses it, whose credentials of the moment `current` gives. Called anew for every principal, and after one was idle for long. */
  open(current: () => Principal): OwnBackend;
  /** Whoever was not here for so long begins anew: what is lost is what was found out about the backend. */
  readonly idleMs: number;
  readonly clock: TimerClock;
  readonly notes: BackendNotes;
  /** Ends what is shared. */
  close(): Promise<void>;
}

/** A few kilobytes each, without what they have under way. */
const MOST_PRINCIPALS = 10_000;

interface Own {
  readonly backend: OwnBackend;
  /** As it came last: a refreshed token is the same principal, and another proof of it. */
  principal: Principal;
  usedAt: number;
}

export class PersonalBackend implements Backend {
  readonly name: string;
  /** Nothing is anybody else's. */
  readonly modern = undefined;
  readonly #options: PersonalOptions;
  /** The one that was used least recently first. */
  readonly #own = new Map<string, Own>();
  readonly #listeners = new Set<(state: BackendState) => void>();
  #last: Discovery | undefined;
  /** The one that was used most recently. */
  #latest: Backend | undefined;
  #stopSweeping: () => void;
  #closed: Promise<void> | undefined;

  constructor(options: PersonalOptions) {
    this.name = options.name;
    this.#options = options;
    this.#stopSweeping = options.clock.after(options.idleMs, () => this.#sweep());
  }

  get state(): BackendState {
    return this.#last === undefined ? { state: 'personal' } : { state: 'ready', discovery: this.#last };
  }

  get lastDiscovery(): Discovery | undefined {
    return this.#last;
  }

  get behind(): readonly GatewayRoute[] {
    return this.#latest?.behind ?? [];
  }

  onChange(listener: (state: BackendState) => void): () => void {
    const own = (state: BackendState) => listener(state);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  ownOf(principal: Principal): Backend {
    const { clock } = this.#options;
    const existing = this.#own.get(principal.key);
    if (existing !== undefined) {
      this.#own.delete(principal.key);
      this.#own.set(principal.key, existing);
      existing.usedAt = clock.now();
      existing.principal = principal;
      this.#latest = existing.backend;
      return existing.backend;
    }
    if (this.#closed !== undefined) throw outOfService();
    this.#makeRoom();
    const backend = this.#options.open(() => own.principal);
    const own: Own = { backend, principal, usedAt: clock.now() };
    backend.onChange((state) => {
      if (state.state === 'ready') this.#learn(state.discovery);
      if (state.state === 'refused') this.#options.notes.refused(state.failure);
    });
    this.#own.set(principal.key, own);
    this.#latest = backend;
    return backend;
  }

  /** What was refused to a principal may be given now. */
  lookAgain(principalKey: string): void {
    this.#own
      .get(principalKey)
      ?.backend.discover()
      .catch(() => undefined);
  }

  /** Nobody in particular has nothing to present. */
  discover(): Promise<Discovery> {
    if (this.#last !== undefined) return Promise.resolve(this.#last);
    return Promise.reject(new Failure('backend_unavailable', { message: 'Each principal reaches this backend alone' }));
  }

  open(): Promise<UpstreamSession> {
    return Promise.reject(new Failure('internal_error', { cause: new Error('a lane of nobody') }));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopSweeping();
    await Promise.all([...this.#own.values()].map(({ backend }) => backend.close()));
    this.#own.clear();
    await this.#options.close();
  }

  #learn(discovery: Discovery): void {
    const isFirst = this.#last === undefined;
    this.#last = discovery;
    if (!isFirst) return;
    for (const listener of [...this.#listeners]) {
      try {
        listener(this.state);
      } catch (cause) {
        this.#options.notes.odd('fault', 'a change of a backend', cause);
      }
    }
  }

  #makeRoom(): void {
    if (this.#own.size < MOST_PRINCIPALS) return;
    for (const [key, { backend }] of this.#own) {
      if (!isUnused(backend)) continue;
      this.#end(key, backend);
      return;
    }
    throw new Failure('backend_busy', { message: 'Too many principals use the backend at once' });
  }

  #sweep(): void {
    const { clock, idleMs } = this.#options;
    const oldest = clock.now() - idleMs;
    for (const [key, { backend, usedAt }] of this.#own) {
      if (usedAt > oldest) break;
      if (isUnused(backend)) this.#end(key, backend);
    }
    this.#stopSweeping = clock.after(idleMs, () => this.#sweep());
  }

  #end(key: string, backend: OwnBackend): void {
    this.#own.delete(key);
    backend.close().catch((cause: unknown) => this.#options.notes.odd('fault', 'closing a backend', cause));
  }
}

/** Its only hearer is ourselves. */
function isUnused({ isIdle, hearers }: OwnBackend): boolean {
  return isIdle && hearers <= 1;
}
