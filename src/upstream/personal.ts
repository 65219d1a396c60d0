/**
 * A backend to which each principal presents credentials of their own. Each principal has a separate backend instance
 * with its own state, lists and sessions, so a refused principal affects no other. The connections are shared.
 */
import { Failure } from '../errors/failure.ts';
import { LinkedList, type ListMember } from '../exchange/linked-list.ts';
import type { Backend, BackendState, Discovery, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { GatewayRoute } from '../wire/via.ts';
import type { LiveBackend } from './backend.ts';
import { BackendStatus } from './backend-status.ts';
import type { BackendNotes } from './channel.ts';
import type { TimerClock } from './deadlines.ts';
import { outOfService } from './health.ts';

type OwnBackend = Backend & Pick<LiveBackend, 'isIdle' | 'hearers'>;

export interface PersonalOptions {
  readonly name: string;
  /**
   * Creates the instance of one principal; `current` gives its latest credentials. Called for each new principal, and
   * again after a principal was idle for long.
   */
  open(current: () => Principal): OwnBackend;
  /** The instance of a principal is closed after this idle time. All it loses is the discovery of the backend. */
  readonly idleMs: number;
  readonly clock: TimerClock;
  readonly notes: BackendNotes;
  /** Closes what all principals share. */
  close(): Promise<void>;
}

/** An instance takes a few kilobytes, without its requests in flight. */
const MOST_PRINCIPALS = 10_000;
/** Of one holder: clients choose freely which credentials they present. */
const MOST_CREDENTIALS = 256;

interface Own extends ListMember {
  readonly key: string;
  readonly backend: OwnBackend;
  /** The latest one: a refreshed token is the same principal with a new proof. */
  principal: Principal;
  usedAt: number;
}

export class PersonalBackend implements Backend {
  readonly name: string;
  /** No upstream session is common to all principals. */
  readonly modern = undefined;
  readonly #options: PersonalOptions;
  readonly #own = new Map<string, Own>();
  /** Least recently used first. Every call moves its principal to the end, which would churn a Map. */
  readonly #byUse = new LinkedList<Own>();
  readonly #status: BackendStatus;
  #last: Discovery | undefined;
  /** Most recently used. */
  #latest: Backend | undefined;
  #stopSweeping: () => void;
  #closed: Promise<void> | undefined;

  constructor(options: PersonalOptions) {
    this.name = options.name;
    this.#options = options;
    this.#status = new BackendStatus({ state: 'personal' }, options.notes);
    this.#stopSweeping = options.clock.after(options.idleMs, () => this.#sweep());
  }

  get state(): BackendState {
    return this.#last === undefined ? this.#status.state : { state: 'ready', discovery: this.#last };
  }

  get lastDiscovery(): Discovery | undefined {
    return this.#last;
  }

  get behind(): readonly GatewayRoute[] {
    return this.#latest?.behind ?? [];
  }

  onChange(listener: (state: BackendState) => void): () => void {
    return this.#status.onChange(listener);
  }

  ownOf(principal: Principal): Backend {
    const own = this.#own.get(principal.key) ?? this.#create(principal);
    this.#byUse.add(own);
    own.usedAt = this.#options.clock.now();
    own.principal = principal;
    this.#latest = own.backend;
    return own.backend;
  }

  #create(principal: Principal): Own {
    if (this.#closed !== undefined) throw outOfService();
    this.#makeRoom(principal);
    const backend = this.#options.open(() => own.principal);
    const own: Own = { key: principal.key, backend, principal, usedAt: 0 };
    backend.onChange((state) => {
      if (state.state === 'ready') this.#learn(state.discovery);
      if (state.state === 'refused') this.#options.notes.refused(state.failure);
    });
    this.#own.set(principal.key, own);
    return own;
  }

  /** Probes again: credentials that were refused may be accepted now. */
  lookAgain(principalKey: string): void {
    this.#own
      .get(principalKey)
      ?.backend.discover()
      .catch(() => undefined);
  }

  /** Without a principal there are no credentials to present, so this can only repeat the last discovery. */
  discover(): Promise<Discovery> {
    if (this.#last !== undefined) return Promise.resolve(this.#last);
    return Promise.reject(
      new Failure('backend_unavailable', { message: 'Each principal has its own connection to this backend' }),
    );
  }

  open(): Promise<UpstreamSession> {
    return Promise.reject(
      new Failure('internal_error', { cause: new Error('an upstream session without a principal') }),
    );
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopSweeping();
    await Promise.all([...this.#own.values()].map(({ backend }) => backend.close()));
    this.#own.clear();
    this.#byUse.clear();
    await this.#options.close();
  }

  #learn(discovery: Discovery): void {
    const isFirst = this.#last === undefined;
    this.#last = discovery;
    if (isFirst) this.#status.become(this.state);
  }

  #makeRoom({ holder }: Principal): void {
    if (holder !== undefined) {
      const isSame = (own: Own) => own.principal.holder?.key === holder.key;
      const count = [...this.#own.values()].filter(isSame).length;
      if (count >= MOST_CREDENTIALS)
        this.#endUnused(isSame, 'One principal uses the backend with too many credentials');
    }
    if (this.#own.size >= MOST_PRINCIPALS) this.#endUnused(() => true, 'Too many principals use the backend at once');
  }

  #endUnused(isMeant: (own: Own) => boolean, otherwise: string): void {
    const unused = this.#byUse.find((own) => isMeant(own) && isUnused(own.backend));
    if (unused === undefined) throw new Failure('backend_busy', { message: otherwise });
    this.#end(unused);
  }

  #sweep(): void {
    const { clock, idleMs } = this.#options;
    const oldest = clock.now() - idleMs;
    for (const own of this.#byUse.members()) {
      if (own.usedAt > oldest) break;
      if (isUnused(own.backend)) this.#end(own);
    }
    this.#stopSweeping = clock.after(idleMs, () => this.#sweep());
  }

  #end(own: Own): void {
    this.#own.delete(own.key);
    this.#byUse.remove(own);
    own.backend.close().catch((cause: unknown) => this.#options.notes.odd('fault', 'closing a backend', cause));
  }
}

/** We ourselves are one of the listeners. */
function isUnused({ isIdle, hearers }: OwnBackend): boolean {
  return isIdle && hearers <= 1;
}
