/**
 * The upstream sessions of a legacy session. Each is opened when it is needed, opened again when it was lost, and then
 * gets what the client said before (log level, subscriptions).
 */

import { isMerged } from '../catalog/name-resolver.ts';
import { Failure } from '../errors/failure.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { onFulfilled } from '../exchange/on-fulfilled.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import type { Trace } from '../exchange/trace.ts';
import type { Discovery, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import { type Permit, systemPermit } from '../policy/permit.ts';
import { nowhere, StreamsDownstream } from '../session/downstream.ts';
import type { Session, SessionFilter } from '../session/session.ts';
import type { UpstreamLost } from '../session/upstream-sink.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { Notification } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { listKinds } from '../wire/subscription-filter.ts';
import type { ConfigChange } from './config-change.ts';
import { HeardLists } from './heard-lists.ts';
import { sessionFilter } from './interceptors/response-filter.ts';
import { rememberLevel } from './legacy-emulation.ts';
import { discoverAll } from './merged.ts';
import { withConsentPage } from './pending-consent.ts';
import type { SharedServices } from './services.ts';
import { SessionLinks } from './session-links.ts';

export class SessionUpstreams {
  /** What the clients of all sessions may receive outside of calls. */
  readonly filter: SessionFilter;
  readonly #shared: SharedServices;
  readonly #links = new WeakMap<Session, SessionLinks>();
  /**
   * Sessions on one modern backend that hear of list changes from `ListChangeNotifier`, each with its function to stop
   * that.
   */
  readonly #hearing = new WeakMap<Session, () => void>();
  readonly #heard: HeardLists;

  constructor(shared: SharedServices) {
    this.#shared = shared;
    this.filter = sessionFilter(shared);
    this.#heard = new HeardLists(shared, (session, kind) => {
      const links = this.#links.get(session);
      if (links !== undefined) links.changed(kind);
      else session.tellChanged(kind);
    });
  }

  /** Undefined where one backend stands behind the endpoint. */
  linksOf(session: Session): SessionLinks | undefined {
    return this.#links.get(session);
  }

  /**
   * Returns what the backends of a new session offer. A single backend is opened together with the session; of several,
   * each is opened when it is needed.
   */
  open(session: Session, permit: Permit): Promise<Discovery> {
    const { endpoint } = session;
    const [only = ''] = endpoint.backends;
    if (!isMerged(endpoint)) return this.#openOnly(session, only, permit);
    this.#link(session);
    return discoverAll(this.#shared, endpoint, session.principal);
  }

  /**
   * A backend that needs consent first does not fail the session: its client can be asked for consent only in a
   * session.
   */
  async #openOnly(session: Session, backend: string, permit: Permit): Promise<Discovery> {
    try {
      const known = await this.#shared.upstreams.discover(backend, session.principal, 'legacy');
      const lists = this.#shared.upstreams.listsFor(session, backend);
      // The backend's process is started for the first call.
      const offered = lists
        ? (lists.discoveryFor(session.client) ?? known)
        : (await this.#upstream(session, backend, permit)).discovery;
      return await withConsentPage(this.#shared, backend, session.principal, offered);
    } catch (error) {
      const failure = this.#shared.fault(error);
      const { limits, currentGeneration } = this.#shared;
      const { consenting } = currentGeneration.now;
      const { elicitationId } = failure.data ?? {};
      if (consenting === undefined || failure.reason !== 'consent_needed') throw failure;
      // What the backend offers is known only after consent: announce all lists as changed then.
      const over = new AbortController();
      session.onEnd(() => over.abort());
      void consenting.waitFor(String(elicitationId), limits.sessionIdleMs, over.signal).then((waited) => {
        if (waited !== 'done' || session.ended) return;
        for (const kind of listKinds) session.tellChanged(kind);
      });
      return discoverAll(this.#shared, session.endpoint, session.principal);
    }
  }

  /** Passes a client's notification to every backend that has an upstream session for the client. */
  notify(session: Session, principal: Principal, message: Notification, row: MethodRow, trace?: Trace): void {
    // A session for one message has no upstream sessions, and must not open any.
    if (session.downstream === nowhere) return;
    const isReady = row.method === 'notifications/initialized';
    const merged = isMerged(session.endpoint);
    for (const [backend, sessionUpstream] of session.upstreams) {
      const permit = this.#may(session, row, backend, principal);
      if (permit === undefined) continue;
      sessionUpstream.whenOpen((upstream) => {
        upstream.notify(permit, message, trace);
        if (isReady && !merged && upstream.era === 'modern') this.#hearHub(session);
      });
    }
    if (!isReady) return;
    if (merged) this.#hearAll(session);
    else for (const backend of session.endpoint.backends) this.#heard.hear(session, backend);
  }

  /** For a session that began elsewhere: what `open` and `notifications/initialized` did there. */
  openAgain(session: Session): void {
    if (isMerged(session.endpoint)) {
      this.reshape(session);
      return;
    }
    for (const backend of session.endpoint.backends) {
      const permit = this.#may(session, initialize, backend);
      if (permit === undefined) continue;
      if (this.#shared.upstreams.listsFor(session, backend) === undefined)
        this.#upstream(session, backend, permit).catch(() => undefined);
      else this.#heard.hear(session, backend);
    }
  }

  /** The session continues under the new config. False where it cannot, because its only backend is gone. */
  renewed(session: Session, { gone, lists }: ConfigChange): boolean {
    const { endpoint, upstreams, listenings } = session;
    const wasAlone = !this.#links.has(session);
    const lost = [...upstreams.keys()].filter((backend) => gone.has(backend));
    const isStream = session.downstream instanceof StreamsDownstream;
    const heard = this.#heard.backendsOf(session).filter((backend) => gone.has(backend));
    if (wasAlone && !isMerged(endpoint) && isStream && lost.length + heard.length > 0) return false;
    // Also of backends whose upstream session was lost before: their next one would be asked for the old subscriptions.
    for (const backend of gone) {
      upstreams.delete(backend);
      listenings.get(backend)?.close();
      listenings.delete(backend);
      session.subscriptions.removeAt(backend);
    }
    this.reshape(session);
    if (session.initialized === undefined || isMerged(endpoint)) return true;
    for (const backend of endpoint.backends) this.#heard.hear(session, backend);
    if (!wasAlone || this.#hearing.has(session)) return true;
    for (const kind of lists.get(endpoint.path) ?? []) session.tellChanged(kind);
    return true;
  }

  /** A reload may have put several backends behind an endpoint that had one. */
  reshape(session: Session): void {
    if (!isMerged(session.endpoint)) return;
    this.#stopHearing(session);
    this.#link(session);
    if (session.initialized !== undefined) this.#hearAll(session);
  }

  #link(session: Session): void {
    if (!this.#links.has(session)) this.#links.set(session, new SessionLinks(this.#shared, session));
  }

  /** A modern backend announces list changes on one stream for all sessions with the same credentials. */
  #hearHub(session: Session): void {
    if (session.ended || this.#hearing.has(session) || this.#links.has(session)) return;
    const { endpoint, principal } = session;
    this.#hearing.set(
      session,
      this.#shared.listChanges.hear(endpoint, principal, (_backend, kind) => session.tellChanged(kind)),
    );
    session.onEnd(() => this.#stopHearing(session));
  }

  #stopHearing(session: Session): void {
    this.#hearing.get(session)?.();
    this.#hearing.delete(session);
  }

  #hearAll(session: Session): void {
    this.#links.get(session)?.begin((backend) => this.#openIfLegacy(session, backend));
    for (const backend of session.endpoint.backends) this.#openIfLegacy(session, backend);
  }

  /**
   * A permit for what follows from an earlier request: opening upstream sessions, and repeating to them what the client
   * said.
   */
  #may(session: Session, row: MethodRow, backend: string, principal = session.principal): Permit | undefined {
    const { endpoint, client } = session;
    const { authorizer } = this.#shared.currentGeneration.now;
    return authorizer.may({ principal, endpoint, row, backend, revision: client.revision });
  }

  /** Sets the log level at all backends that keep one in their sessions. Modern backends get it with every request. */
  setLevels(session: Session, exchange: Exchange): void {
    if (!rememberLevel(session, exchange)) return;
    for (const [backend, sessionUpstream] of session.upstreams)
      sessionUpstream.whenOpen((upstream) => this.#tellLevel(session, backend, upstream));
    exchange.respondResult('{}');
  }

  #tellLevel(session: Session, backend: string, upstream: UpstreamSession): void {
    const { logLevel: level } = session;
    if (level === undefined || upstream.era === 'modern' || upstream.discovery.capabilities.logging === undefined)
      return;
    const permit = this.#may(session, setLevel, backend);
    if (permit === undefined) return;
    callOnce((sink) => upstream.call(permit, ownRequest(setLevel.method, { level }), sink)).catch(() => undefined);
  }

  #openIfLegacy(session: Session, backend: string): void {
    const permit = this.#may(session, initialize, backend);
    if (permit === undefined) return;
    const { upstreams } = this.#shared;
    onFulfilled(upstreams.discover(backend, session.principal), ({ eras }) => {
      if (!eras.includes('legacy') || session.ended) return;
      const hasSubscribed = session.subscriptions.at(backend).length > 0;
      const lists = hasSubscribed ? undefined : upstreams.listsFor(session, backend);
      if (lists === undefined) this.#upstream(session, backend, permit).catch(() => undefined);
      else this.#heard.hear(session, backend);
    });
  }

  /** The session's own upstream session to the backend, where it is open. */
  openUpstream(session: Session, backend: string): UpstreamLease | undefined {
    return session.downstream === nowhere ? undefined : this.#shared.upstreams.openFor(session, backend);
  }

  upstreamFor(session: Session, backend: string, permit: Permit, row: MethodRow): Promise<UpstreamLease> {
    if (session.downstream !== nowhere) {
      const lists = row.list === undefined ? undefined : this.#shared.upstreams.listsFor(session, backend);
      return lists === undefined
        ? this.#upstream(session, backend, permit)
        : this.#shared.upstreams.forLists(lists, session.client);
    }
    return this.#shared.upstreams.forModern(permit, backend, session.principal, session.client, row);
  }

  #upstream(session: Session, backend: string, permit: Permit): Promise<UpstreamSession> {
    const isNew = !session.upstreams.has(backend);
    const opening = this.#shared.upstreams.forSession(permit, session, backend, this.#lost);
    if (isNew) onFulfilled(opening, (upstream) => this.#settleIn(session, backend, upstream));
    return opening;
  }

  /**
   * Over HTTP, a client whose only backend lost its session gets 404 and starts again. A persistent connection has no
   * such signal, so its upstream session is opened again with the next request. On a merged endpoint it is opened with
   * the next request or at once, because the client listens to it.
   */
  readonly #lost: UpstreamLost = (session, backend, openedAt) => {
    const { clock, sessions, currentGeneration } = this.#shared;
    const isMergedNow = isMerged(session.endpoint);
    this.#links.get(session)?.outdated(backend);
    const keepsState = currentGeneration.now.backends.of(backend, session.principal)?.isStateless !== true;
    if (!isMergedNow && keepsState && session.downstream instanceof StreamsDownstream)
      void sessions.end(session, new Failure('session_not_found'));
    if (isMergedNow && session.initialized !== undefined && !session.ended && clock.now() - openedAt >= STOOD_MS)
      this.#openIfLegacy(session, backend);
  };

  /** Repeats to an upstream session that was opened later, or opened again, what the client said before. */
  #settleIn(session: Session, backend: string, upstream: UpstreamSession): void {
    this.#tellLevel(session, backend, upstream);
    if (upstream.era === 'modern') {
      if (!isMerged(session.endpoint) && session.initialized !== undefined) this.#hearHub(session);
      return;
    }
    if (!this.#links.has(session)) return;
    // These subscriptions were authorized when the client made them.
    const permit = systemPermit('stream');
    for (const uri of session.subscriptions.at(backend)) {
      callOnce((sink) => upstream.call(permit, ownRequest('resources/subscribe', { uri }), sink)).catch(
        () => undefined,
      );
    }
  }
}

/** An upstream session that is lost sooner is not reopened at once: it would be lost and reopened without end. */
const STOOD_MS = 10_000;

const initialize = methodRow('initialize') as MethodRow;
const setLevel = methodRow('logging/setLevel') as MethodRow;
