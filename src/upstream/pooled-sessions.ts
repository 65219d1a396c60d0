/**
 * Sessions at legacy backends for clients without a session of their own. Clients of one principal that declare the
 * same to a backend share them. A call that may cause server requests has its session alone, unless the backend says
 * which call a server request belongs to.
 */
import type { Limits } from '../config/limits.ts';
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import type { UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import { Audience, type WatchedSession } from '../subscriptions/session-subscription.ts';
import { canonical } from '../wire/canonical.ts';
import { mayBeAsked } from '../wire/capabilities.ts';
import type { Notification } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { type OpenedUpstream, PooledCall } from './pooled-call.ts';
import { SessionLevel } from './session-level.ts';
import type { UpstreamLease } from './upstream-pool.ts';

/** A pooled session is closed after `processIdleMs` without a call. */
export type PooledSessionsLimits = Pick<Limits, 'pooledPerPrincipal' | 'processIdleMs'>;

/** Who uses a pooled session, and where. */
export interface PoolUser {
  readonly backend: string;
  readonly principal: Principal;
  readonly client: ClientFacts;
}

/**
 * Receives what a pooled session sends outside of calls. Undefined: the session is lost or receives nothing for now, so
 * notifications may be missing.
 */
export type HearPooled = (
  backend: string,
  principal: Principal,
  client: ClientFacts,
  said: Notification | undefined,
) => void;

export interface PooledSessionsOptions {
  open(permit: Permit, user: PoolUser, sink: UpstreamSessionSink): Promise<UpstreamSession>;
  readonly limits: PooledSessionsLimits;
  readonly clock: Clock;
  readonly hear: HearPooled;
}

/** From this many pools on, empty ones are removed. */
const POOLS = 256;

interface PooledSession {
  /** Backend and principal: the limit counts all their sessions together. */
  readonly owner: string;
  readonly opening: Promise<UpstreamSession>;
  users: number;
  /** Set while one call has the session alone. */
  exclusive: boolean;
  idleSince: number;
  /** Receives what the session sends outside of calls. */
  readonly audience: Audience;
  readonly level: SessionLevel;
  /** Set once the session is open. */
  upstream?: UpstreamSession;
}

interface PoolLease extends OpenedUpstream {
  readonly entry: PooledSession;
}

export class PooledSessions {
  readonly #options: PooledSessionsOptions;
  readonly #pools = new Map<string, Set<PooledSession>>();
  /**
   * By backend: whether server requests reveal the call that they belong to. Known once a session was opened; false for
   * good after a server request came outside of its call's stream.
   */
  readonly #attributing = new Map<string, boolean>();
  #stopSweeping: () => void;

  constructor(options: PooledSessionsOptions) {
    this.#options = options;
    this.#stopSweeping = options.clock.after(options.limits.processIdleMs, () => this.#sweep());
  }

  async lease(permit: Permit, user: PoolUser, row: MethodRow): Promise<UpstreamLease> {
    const held = await this.#hold(permit, user, row);
    const { upstream, release } = held;
    const reopen = (given: Permit) => {
      // Remove it now: otherwise the next lookup would find it before it is reported lost.
      this.#pool(user).delete(held.entry);
      return this.#hold(given, user, row);
    };
    return {
      era: upstream.era,
      discovery: upstream.discovery,
      get hearing() {
        return upstream.hearing ?? 'heard';
      },
      call: (given, request, sink) => new PooledCall(request, sink, given, () => reopen(given)).begin(held),
      release,
      hold: () => this.#keep(held.entry),
      aside: (given, request, sink) => upstream.call(given, request, sink),
    };
  }

  /** A session to receive notifications from. Watching shares the session with calls. */
  async watch(permit: Permit, user: PoolUser): Promise<WatchedSession> {
    const [entry = this.#grow(permit, user)] = this.#pool(user);
    entry.users += 1;
    try {
      return entry.audience.watch(await entry.opening, permit);
    } finally {
      entry.users -= 1;
    }
  }

  /** The backend was removed or replaced: no new calls start in its sessions. */
  retire(name: string): void {
    this.#attributing.delete(name);
    for (const key of [...this.#pools.keys()]) {
      const [backend] = JSON.parse(key) as readonly unknown[];
      if (backend === name) this.#pools.delete(key);
    }
  }

  close(): void {
    this.#stopSweeping();
    for (const pool of this.#pools.values()) for (const entry of pool) closeWhenOpen(entry);
    this.#pools.clear();
  }

  #pool({ backend, principal, client }: PoolUser): Set<PooledSession> {
    const key = JSON.stringify([backend, principal.key, client.revision, canonical(client.capabilities.raw)]);
    const existing = this.#pools.get(key);
    if (existing !== undefined) return existing;
    // Clients choose freely what their requests declare, so empty pools must not pile up.
    if (this.#pools.size >= POOLS)
      for (const [other, pool] of this.#pools) if (pool.size === 0) this.#pools.delete(other);
    const pool = new Set<PooledSession>();
    this.#pools.set(key, pool);
    return pool;
  }

  async #hold(permit: Permit, user: PoolUser, row: MethodRow): Promise<PoolLease> {
    const { backend, client } = user;
    // A client without such capabilities gets no server requests. Its pool contains only clients like it.
    const mayAsk = row.mayAsk === true && mayBeAsked(client.capabilities);
    const alone = () => mayAsk && this.#attributing.get(backend) !== true;
    const free = () => {
      const pool = [...this.#pool(user)];
      if (pool.some(({ upstream }) => upstream?.attributesAsks === false)) this.#attributing.set(backend, false);
      return pool.find((pooled) => !pooled.exclusive && (pooled.users === 0 || !alone()));
    };
    let entry = free();
    const [first] = this.#pool(user);
    if (entry === undefined && first !== undefined && !this.#attributing.has(backend)) {
      // The session that is being opened may turn out to be sharable: wait until it is open.
      await first.opening.catch(() => undefined);
      entry = free();
    }
    entry ??= this.#grow(permit, user);
    entry.users += 1;
    entry.exclusive = alone();
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      entry.users -= 1;
      entry.exclusive = false;
      entry.idleSince = this.#options.clock.now();
    };
    try {
      const upstream = await entry.opening;
      entry.upstream = upstream;
      if (this.#attributing.get(backend) !== false) this.#attributing.set(backend, upstream.attributesAsks);
      // Where the stream reveals the call of a server request, calls share the session.
      entry.exclusive = alone();
      const level = upstream.discovery.capabilities.logging === undefined ? undefined : entry.level;
      return { entry, upstream, level, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** One user more, who makes several calls. */
  #keep(entry: PooledSession): () => void {
    let kept = true;
    entry.users += 1;
    return () => {
      if (!kept) return;
      kept = false;
      entry.users -= 1;
      entry.idleSince = this.#options.clock.now();
    };
  }

  #grow(permit: Permit, user: PoolUser): PooledSession {
    const { backend, principal, client } = user;
    const { clock, hear } = this.#options;
    const owner = JSON.stringify([backend, (principal.holder ?? principal).key]);
    this.#makeRoom(owner);
    const pool = this.#pool(user);
    const audience = new Audience();
    const sink: UpstreamSessionSink = {
      ...silent,
      notify: (notification) => {
        hear(backend, principal, client, notification);
        audience.notify(notification);
      },
      lost: (failure) => {
        pool.delete(entry);
        hear(backend, principal, client, undefined);
        audience.lost(failure);
      },
      silenced: (failure) => {
        hear(backend, principal, client, undefined);
        audience.silenced(failure);
      },
    };
    const opening = this.#options.open(permit, user, sink);
    const level = new SessionLevel(clock);
    const entry = { owner, opening, users: 0, exclusive: false, idleSince: clock.now(), audience, level };
    opening.catch(() => pool.delete(entry));
    pool.add(entry);
    return entry;
  }

  /**
   * Clients choose freely what their requests declare, so the number of sessions is limited. Closes the one that is
   * idle longest.
   */
  #makeRoom(owner: string): void {
    const owned = [...this.#pools.values()].flatMap((pool) =>
      [...pool].filter((entry) => entry.owner === owner).map((entry) => ({ pool, entry })),
    );
    if (owned.length < this.#options.limits.pooledPerPrincipal) return;
    const [idle] = owned
      .filter(({ entry }) => entry.users === 0 && entry.audience.size === 0)
      .sort((a, b) => a.entry.idleSince - b.entry.idleSince);
    if (idle === undefined) {
      const message = 'Backend busy: too many sessions of one principal (`limits.pooledPerPrincipal`)';
      throw new Failure('backend_busy', { message });
    }
    idle.pool.delete(idle.entry);
    closeWhenOpen(idle.entry);
  }

  #sweep(): void {
    const { clock, limits } = this.#options;
    const oldest = clock.now() - limits.processIdleMs;
    for (const [key, pool] of this.#pools) {
      for (const entry of pool) {
        if (entry.users > 0 || entry.audience.size > 0 || entry.idleSince > oldest) continue;
        pool.delete(entry);
        closeWhenOpen(entry);
      }
      if (pool.size === 0) this.#pools.delete(key);
    }
    this.#stopSweeping = clock.after(limits.processIdleMs, () => this.#sweep());
  }
}

/** Where it does not open, there is nothing to close. */
export function closeWhenOpen({ opening }: { readonly opening: Promise<UpstreamSession> }): void {
  opening.then(
    (upstream) => upstream.close(),
    () => undefined,
  );
}

/** For upstream sessions without a client: outside of a call no client can answer a server request. */
export const silent: UpstreamSessionSink = {
  notify: () => undefined,
  ask: (ask) => ask.answer({ failure: new Failure('ask_not_supported') }),
  lost: () => undefined,
};
