/**
 * Chooses the upstream session for a request. A modern backend has one for all clients. A legacy backend has one per
 * client session, and pooled ones per principal and declared capabilities for clients without a session.
 */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Backend, Discovery, ListProcesses, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import { type Session, SessionUpstream } from '../session/session.ts';
import type { UpstreamLost } from '../session/upstream-sink.ts';
import type { WatchedSession } from '../subscriptions/session-subscription.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import type { CurrentBackends } from './backends.ts';
import { PooledCall } from './pooled-call.ts';
import { type HearPooled, PooledSessions, type PooledSessionsLimits, silent } from './pooled-sessions.ts';

/** An upstream session for one call, released when the call is over. A session that all clients share is one too. */
export interface UpstreamLease extends Pick<UpstreamSession, 'call' | 'discovery' | 'era' | 'hearing'> {
  /** Releases it without a call. */
  release?(): void;
  /** Keeps the session after its call, until the returned function is called. Absent where all clients share it. */
  hold?(): () => void;
  /**
   * A call of the gateway's own, beside the one that the session is leased for. Absent where all clients share the
   * session: use `call`.
   */
  aside?: UpstreamSession['call'];
}

export class UpstreamPool {
  readonly #currentGeneration: CurrentBackends;
  readonly #clock: Clock;
  readonly #pooled: PooledSessions;

  constructor(currentGeneration: CurrentBackends, limits: PooledSessionsLimits, clock: Clock, hear: HearPooled) {
    this.#currentGeneration = currentGeneration;
    this.#clock = clock;
    this.#pooled = new PooledSessions({
      ...{ limits, clock, hear },
      open: (permit, { backend, principal, client }, sink) =>
        this.#backend(backend, principal).open(permit, 'legacy', client, sink, principal.key),
    });
  }

  async discover(name: string, principal: Principal, wanted?: Era): Promise<Discovery> {
    return await this.#backend(name, principal).discover(wanted);
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
  forSession(permit: Permit, session: Session, name: string, lost: UpstreamLost): Promise<UpstreamSession> {
    const existing = session.upstreams.get(name);
    if (existing !== undefined) return existing.opening.then((upstream) => this.#current(session, name, upstream));
    const opened = new SessionUpstream(this.#openForSession(permit, session, name, lost));
    session.upstreams.set(name, opened);
    opened.opening.catch(() => {
      if (session.upstreams.get(name) === opened) session.upstreams.delete(name);
    });
    return opened.opening;
  }

  /** Undefined until it is open. */
  openFor(session: Session, name: string): UpstreamSession | undefined {
    const upstream = session.upstreams.get(name)?.opened;
    return upstream && this.#current(session, name, upstream);
  }

  /**
   * If a modern backend was temporarily taken for a legacy one, it has a new upstream session since, and the old one is
   * shut.
   */
  #current({ principal }: Session, name: string, upstream: UpstreamSession): UpstreamSession {
    if (upstream.era === 'legacy') return upstream;
    return this.#currentGeneration.now.backends.stateless(name, principal) ?? upstream;
  }

  /** Where to read lists for a session without a process of its own. Undefined where it needs none, or has one. */
  listsFor(session: Session, name: string): ListProcesses | undefined {
    if (session.upstreams.has(name)) return undefined;
    const backend = this.#currentGeneration.now.backends.of(name, session.principal);
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

  /** A session for clients without a session of their own. */
  pooled(
    permit: Permit,
    backend: string,
    principal: Principal,
    client: ClientFacts,
    row: MethodRow,
  ): Promise<UpstreamLease> {
    return this.#pooled.lease(permit, { backend, principal, client }, row);
  }

  /** A pooled session to receive notifications from. */
  watch(permit: Permit, backend: string, principal: Principal, client: ClientFacts): Promise<WatchedSession> {
    return this.#pooled.watch(permit, { backend, principal, client });
  }

  /** The backend was removed or replaced: no new calls start in its pooled sessions. */
  retire(name: string): void {
    this.#pooled.retire(name);
  }

  close(): void {
    this.#pooled.close();
  }

  #backend(name: string, principal: Principal): Backend {
    const backend = this.#currentGeneration.now.backends.of(name, principal);
    if (backend === undefined) throw new Failure('backend_unavailable');
    return backend;
  }

  async #openForSession(permit: Permit, session: Session, name: string, lost: UpstreamLost): Promise<UpstreamSession> {
    const sink = session.upstreamSink(name, this.#clock.now(), lost);
    const backend = this.#backend(name, session.principal);
    const { eras } = await backend.discover('legacy');
    const era = eras.includes('legacy') ? 'legacy' : 'modern';
    const upstream = await backend.open(permit, era, session.client, sink, session.principal.key);
    sink.opened = session.upstreams.get(name);
    if (session.ended) upstream.close();
    else if (session.initialized !== undefined) upstream.notify(permit, session.initialized);
    return upstream;
  }
}
