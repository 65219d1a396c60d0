/**
 * Chooses the upstream session for a request. A modern backend has one for all clients. A legacy backend has one per
 * client session, and pooled ones per principal and declared capabilities for clients without a session.
 */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import type {
  Backend,
  Discovery,
  ListProcesses,
  UpstreamSession,
  UpstreamSessionSink,
} from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import type { Session } from '../session/session.ts';
import { Audience } from '../subscriptions/audience.ts';
import type { WatchedSession } from '../subscriptions/session-subscription.ts';
import { canonical } from '../wire/canonical.ts';
import { mayBeAsked } from '../wire/capabilities.ts';
import type { Notification } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import type { Backends } from './backends.ts';
import { type OpenedUpstream, PooledCall } from './pooled-call.ts';
import { SessionLevel } from './session-level.ts';

export interface UpstreamPoolLimits {
  /** Pooled sessions of one principal at one backend, whatever its requests declare. Each may be a process. */
  readonly pooledPerPrincipal: number;
  /** A pooled session is closed after this idle time. */
  readonly processIdleMs: number;
}

/** From this many pools on, empty ones are removed. */
const POOLS = 256;

/** An upstream session for one call, released when the call is over. A session that all clients share is one too. */
export interface UpstreamLease extends Pick<UpstreamSession, 'call' | 'discovery' | 'era' | 'hearing'> {
  /** Releases it without a call. */
  release?(): void;
  /**
   * A call of the gateway's own, beside the one that the session is leased for. Absent where all clients share the
   * session: use `call`.
   */
  aside?: UpstreamSession['call'];
}

interface PooledSession {
  /** Backend and principal: the limit counts all their sessions together. */
  readonly owner: string;
  readonly opening: Promise<UpstreamSession>;
  users: number;
  /**
   * Set while one call has the session alone: a call that may cause server requests, where nothing says which call a
   * server request belongs to.
   */
  exclusive: boolean;
  idleSince: number;
  /** Receives what the session sends outside of calls. */
  readonly audience: Audience;
  readonly level: SessionLevel;
  /** Set once the session is open. */
  upstream?: UpstreamSession;
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

interface PoolLease extends OpenedUpstream {
  readonly entry: PooledSession;
}

export class UpstreamPool {
  readonly #backends: Backends;
  readonly #limits: UpstreamPoolLimits;
  readonly #clock: Clock;
  readonly #hear: HearPooled;
  readonly #pools = new Map<string, Set<PooledSession>>();
  /**
   * By backend: whether server requests reveal the call that they belong to. Known once a session was opened; false for
   * good after a server request came outside of its call's stream.
   */
  readonly #attributing = new Map<string, boolean>();
  #stopSweeping: () => void;

  constructor(backends: Backends, limits: UpstreamPoolLimits, clock: Clock, hear: HearPooled) {
    this.#hear = hear;
    this.#backends = backends;
    this.#limits = limits;
    this.#clock = clock;
    this.#stopSweeping = this.#clock.after(limits.processIdleMs, () => this.#sweep());
  }

  /**
   * The upstream session of a backend that is known to be modern. Synchronous, because most modern calls take this
   * path.
   */
  stateless(name: string, principal: Principal): UpstreamSession | undefined {
    return this.#backends.of(name, principal)?.modern;
  }

  async discover(name: string, principal: Principal, wanted?: Era): Promise<Discovery> {
    return this.#backend(name, principal).discover(wanted);
  }

  async forModern(
    permit: Permit,
    name: string,
    principal: Principal,
    client: ClientFacts,
    row: MethodRow,
  ): Promise<UpstreamLease> {
    const backend = this.#backend(name, principal);
    const { eras } = await backend.discover();
    if (!eras.includes('modern')) return this.pooled(permit, name, principal, client, row);
    return backend.open(permit, 'modern', client, silent);
  }

  /**
   * The client session's own upstream session. A backend of both eras is used in the client's era, so that nothing
   * needs translation.
   */
  forSession(
    permit: Permit,
    session: Session,
    name: string,
    lost: (failure: Failure) => void,
  ): Promise<UpstreamSession> {
    const existing = session.upstreams.get(name);
    if (existing !== undefined) return existing.then((upstream) => this.#current(name, session.principal, upstream));
    const opening = this.#openForSession(permit, session, name, lost);
    session.upstreams.set(name, opening);
    opening.catch(() => {
      if (session.upstreams.get(name) === opening) session.upstreams.delete(name);
    });
    return opening;
  }

  /**
   * If a modern backend was temporarily taken for a legacy one, it has a new upstream session since, and the old one is
   * shut.
   */
  #current(name: string, principal: Principal, upstream: UpstreamSession): UpstreamSession {
    return upstream.era === 'modern' ? (this.stateless(name, principal) ?? upstream) : upstream;
  }

  /** Where to read lists for a session without a process of its own. Undefined where it needs none, or has one. */
  listsFor(session: Session, name: string): ListProcesses | undefined {
    if (session.upstreams.has(name)) return undefined;
    const backend = this.#backends.of(name, session.principal);
    // For a backend without discovery, the first list request finds out.
    if (backend?.lists === undefined || backend.lastDiscovery?.eras.includes('legacy') === false) return undefined;
    return backend.lists;
  }

  /** A process that serves lists to clients of this kind. */
  async forLists(lists: ListProcesses, client: ClientFacts): Promise<UpstreamLease> {
    const upstream = await lists.open(client);
    const opened = (on: UpstreamSession) => ({ upstream: on, level: undefined, release: () => undefined });
    return {
      era: upstream.era,
      discovery: upstream.discovery,
      // The process may have been ended meanwhile, to make room for other kinds of clients.
      call: (permit, request, sink) =>
        new PooledCall(request, sink, permit, async () => opened(await lists.open(client))).begin(opened(upstream)),
    };
  }

  async pooled(
    permit: Permit,
    name: string,
    principal: Principal,
    client: ClientFacts,
    row: MethodRow,
  ): Promise<UpstreamLease> {
    const held = await this.#hold(permit, name, principal, client, row);
    const { upstream, release } = held;
    const reopen = (given: Permit) => {
      // Remove it now: otherwise the next lookup would find it before it is reported lost.
      this.#pool(name, principal, client).delete(held.entry);
      return this.#hold(given, name, principal, client, row);
    };
    return {
      era: upstream.era,
      discovery: upstream.discovery,
      get hearing() {
        return upstream.hearing ?? 'heard';
      },
      call: (given, request, sink) => new PooledCall(request, sink, given, () => reopen(given)).begin(held),
      release,
      aside: (given, request, sink) => upstream.call(given, request, sink),
    };
  }

  /**
   * A pooled session to receive notifications from. Watching does not involve its calls, so it shares the session with
   * them.
   */
  async watch(permit: Permit, name: string, principal: Principal, client: ClientFacts): Promise<WatchedSession> {
    const pool = this.#pool(name, principal, client);
    const [entry = this.#grow(permit, name, principal, client)] = pool;
    entry.users += 1;
    try {
      return entry.audience.watch(await entry.opening, permit);
    } finally {
      entry.users -= 1;
    }
  }

  /** The backend was removed or replaced: no new calls start in its pooled sessions. */
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

  #backend(name: string, principal: Principal): Backend {
    const backend = this.#backends.of(name, principal);
    if (backend === undefined) throw new Failure('backend_unavailable');
    return backend;
  }

  async #openForSession(
    permit: Permit,
    session: Session,
    name: string,
    lost: (failure: Failure) => void,
  ): Promise<UpstreamSession> {
    const backend = this.#backend(name, session.principal);
    const { eras } = await backend.discover('legacy');
    const mine = () => session.upstreams.get(name);
    let opened: Promise<UpstreamSession> | undefined;
    const sink = session.upstreamSink(name, (failure) => {
      // Ignore a session that has been replaced since, or will be, because its backend was taken out of service.
      if (opened !== undefined && mine() !== opened) return;
      session.upstreams.delete(name);
      lost(failure);
    });
    const era = eras.includes('legacy') ? 'legacy' : 'modern';
    const upstream = await backend.open(permit, era, session.client, sink, session.principal.key);
    opened = mine();
    if (session.ended) upstream.close();
    else if (session.initialized !== undefined) upstream.notify(permit, session.initialized);
    return upstream;
  }

  #pool(name: string, principal: Principal, client: ClientFacts): Set<PooledSession> {
    const key = JSON.stringify([name, principal.key, client.revision, canonical(client.capabilities.raw)]);
    const existing = this.#pools.get(key);
    if (existing !== undefined) return existing;
    // Clients choose freely what their requests declare, so empty pools must not pile up.
    if (this.#pools.size >= POOLS)
      for (const [other, pool] of this.#pools) if (pool.size === 0) this.#pools.delete(other);
    const pool = new Set<PooledSession>();
    this.#pools.set(key, pool);
    return pool;
  }

  async #hold(
    permit: Permit,
    name: string,
    principal: Principal,
    client: ClientFacts,
    row: MethodRow,
  ): Promise<PoolLease> {
    // A client without such capabilities gets no server requests. Its pool contains only clients like it.
    const mayAsk = row.mayAsk === true && mayBeAsked(client.capabilities);
    const alone = () => mayAsk && this.#attributing.get(name) !== true;
    const free = () => {
      const pool = [...this.#pool(name, principal, client)];
      if (pool.some(({ upstream }) => upstream?.attributesAsks === false)) this.#attributing.set(name, false);
      return pool.find((pooled) => !pooled.exclusive && (pooled.users === 0 || !alone()));
    };
    let entry = free();
    const [first] = this.#pool(name, principal, client);
    if (entry === undefined && first !== undefined && !this.#attributing.has(name)) {
      // The session that is being opened may turn out to be sharable: wait until it is open.
      await first.opening.catch(() => undefined);
      entry = free();
    }
    entry ??= this.#grow(permit, name, principal, client);
    entry.users += 1;
    entry.exclusive = alone();
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      entry.users -= 1;
      entry.exclusive = false;
      entry.idleSince = this.#clock.now();
    };
    try {
      const upstream = await entry.opening;
      entry.upstream = upstream;
      if (this.#attributing.get(name) !== false) this.#attributing.set(name, upstream.attributesAsks);
      // Where the stream reveals the call of a server request, calls share the session.
      entry.exclusive = alone();
      const level = upstream.discovery.capabilities.logging === undefined ? undefined : entry.level;
      return { entry, upstream, level, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #grow(permit: Permit, name: string, principal: Principal, client: ClientFacts): PooledSession {
    const owner = JSON.stringify([name, principal.key]);
    this.#makeRoom(owner);
    const pool = this.#pool(name, principal, client);
    const audience = new Audience();
    const sink: UpstreamSessionSink = {
      ...silent,
      notify: (notification) => {
        this.#hear(name, principal, client, notification);
        audience.notify(notification);
      },
      lost: (failure) => {
        pool.delete(entry);
        this.#hear(name, principal, client, undefined);
        audience.lost(failure);
      },
      silenced: (failure) => {
        this.#hear(name, principal, client, undefined);
        audience.silenced(failure);
      },
    };
    const opening = this.#backend(name, principal).open(permit, 'legacy', client, sink, principal.key);
    const entry: PooledSession = {
      owner,
      opening,
      users: 0,
      exclusive: false,
      idleSince: this.#clock.now(),
      audience,
      level: new SessionLevel(this.#clock),
    };
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
    if (owned.length < this.#limits.pooledPerPrincipal) return;
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
    const oldest = this.#clock.now() - this.#limits.processIdleMs;
    for (const [key, pool] of this.#pools) {
      for (const entry of pool) {
        if (entry.users > 0 || entry.audience.size > 0 || entry.idleSince > oldest) continue;
        pool.delete(entry);
        closeWhenOpen(entry);
      }
      if (pool.size === 0) this.#pools.delete(key);
    }
    this.#stopSweeping = this.#clock.after(this.#limits.processIdleMs, () => this.#sweep());
  }
}

function closeWhenOpen({ opening }: PooledSession): void {
  opening.then(
    (upstream) => upstream.close(),
    () => undefined,
  );
}

/** For upstream sessions without a client behind them: nobody could answer outside of a call. */
const silent: UpstreamSessionSink = {
  notify: () => undefined,
  ask: (ask) => ask.answer({ failure: new Failure('ask_not_supported') }),
  lost: () => undefined,
};
