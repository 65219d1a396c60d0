/**
 * Continues a legacy session that this process does not know, from its sealed id: after a restart, or where another
 * process opened it. Its backends are opened again, which loses nothing where they keep no state of a session in this
 * process. What the client asked for since `initialize` is repeated.
 */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Outlet, Reply, Settlement } from '../exchange/outlet.ts';
import type { Principal } from '../identity/principal.ts';
import { sessionTag } from '../observe/audit.ts';
import { plainInitialized } from '../session/initialized.ts';
import type { Session } from '../session/session.ts';
import type { SessionIssue, StoredSessionState } from '../session/session-records.ts';
import type { SealedSession } from '../session/session-seal.ts';
import { StoreError } from '../store/errors.ts';
import { requestBytes } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { listKinds } from '../wire/subscription-filter.ts';
import { RequestContext } from './context.ts';
import { newSession, newStreams } from './open.ts';
import type { Pipeline } from './pipeline.ts';

/** Clocks of machines that share sessions may differ by this much. */
const CLOCKS_APART_MS = 60_000;

/** A process that continues a session later numbers its server requests from a higher number. */
const ASKS_IN_A_MS = 1_000;

const UNREADABLE = 'Session not found: the store, which knows whether it has ended, cannot be read';

/** A request that names a session. */
export type SessionSender = Pick<RequestContext, 'endpoint' | 'principal' | 'credentials' | 'generation'>;

export class ContinuedSessions {
  readonly #pipeline: Pipeline;
  /** By id: sessions that are being continued or ended. Requests that arrive meanwhile wait for the same. */
  readonly #busy = new Map<string, Promise<void>>();

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
  }

  /** Rejects with a Failure where the session cannot be continued. Afterwards `Sessions.find` finds it. */
  continue(id: string, sender: SessionSender): Promise<void> {
    const sealed = this.opened(id, sender.endpoint, sender.principal);
    if (sealed === undefined) return Promise.reject(new Failure('session_not_found'));
    return this.#busy.get(id) ?? this.#alone(id, this.#continue(id, sealed, sender));
  }

  /** What was fixed when the session was opened. Undefined where the id is not ours, too old, or of a time to come. */
  opened(id: string, endpoint: Endpoint, principal: Principal): SealedSession | undefined {
    const sealed = this.openedAnywhere(id, endpoint, principal);
    const isEarly = sealed !== undefined && sealed.issuedAt - this.#pipeline.shared.timeOfDay() > CLOCKS_APART_MS;
    return isEarly ? undefined : sealed;
  }

  /** The same where the process that opened it, whose clock may be another one, decides about it. */
  openedAnywhere(id: string, { path, profile }: Endpoint, principal: Principal): SealedSession | undefined {
    const { sessionSeal, timeOfDay, limits, sessions } = this.#pipeline.shared;
    if (sessions.has(id)) return undefined;
    const sealed = sessionSeal().open(id, { endpoint: path, principal: principal.key });
    if (sealed === undefined || !profile.revisions.includes(sealed.client.revision)) return undefined;
    const now = timeOfDay();
    const age = now - sealed.issuedAt;
    // The limit may have been lowered since.
    return now > sealed.until || age > limits.sessionMaxMs ? undefined : sealed;
  }

  /** Resolves when the session is neither being continued nor being ended. */
  async settled(id: string): Promise<void> {
    for (let busy = this.#busy.get(id); busy !== undefined; busy = this.#busy.get(id)) await busy.catch(ignore);
  }

  /** The session has ended, and is continued nowhere. Call it when `settled`. Resolves when that is stored. */
  end(id: string, principal: Principal, sealed: SealedSession): Promise<void> {
    return this.#alone(id, this.#end(id, principal, sealed));
  }

  async #end(id: string, principal: Principal, { issuedAt, until }: SealedSession): Promise<void> {
    const issue = { id, principal: principal.key, issuedAt };
    const state = await this.#stateOf(issue);
    await this.#pipeline.shared.sessions.endElsewhere({ ...issue, until }, state.isStored);
  }

  /** A shutdown waits for it. */
  #alone(id: string, doing: Promise<void>): Promise<void> {
    const { work } = this.#pipeline.shared;
    work.begin();
    const done = doing.finally(() => {
      work.end();
      this.#busy.delete(id);
    });
    this.#busy.set(id, done);
    return done;
  }

  /** Rejects with a Failure for a session that has ended, or may have. */
  async #stateOf(issue: SessionIssue): Promise<StoredSessionState> {
    const { sessionRecords, work } = this.#pipeline.shared;
    const state = await sessionRecords.read(issue).catch((cause: unknown) => {
      if (work.draining) throw new Failure('shutting_down');
      // A server that cannot be reached is back later: the client keeps its session.
      if (cause instanceof StoreError && (cause.kind === 'away' || cause.kind === 'slow')) throw cause;
      // A client that gets this opens a new session.
      throw new Failure('session_not_found', { message: UNREADABLE, cause });
    });
    if (state === undefined) throw new Failure('session_not_found');
    return state;
  }

  async #continue(id: string, { issuedAt, until, client }: SealedSession, sender: SessionSender): Promise<void> {
    const { shared, sessionUpstreams } = this.#pipeline;
    const { sessions, timeOfDay, currentGeneration, work } = shared;
    const { endpoint, principal } = sender;
    await sessions.reserve(principal);
    let isAdded = false;
    try {
      if (!(await this.mayLoseProcesses(endpoint, principal))) throw new Failure('session_not_found');
      // Last: what is waited for afterwards could not notice an end.
      const state = await this.#stateOf({ id, principal: principal.key, issuedAt });
      // The next process continues it.
      if (work.draining) throw new Failure('shutting_down');
      // A reload may have removed the endpoint meanwhile.
      if (!currentGeneration.now.endpoints.has(endpoint.path)) throw new Failure('path_not_found');
      const now = timeOfDay();
      const seal = { issuedAt, until, age: Math.max(0, now - issuedAt), asksAfter: now * ASKS_IN_A_MS };
      const place = currentGeneration.place(endpoint);
      const streams = newStreams(shared, id, client.revision, true);
      const session = newSession(shared, { id, principal, endpoint: place, client, seal }, streams);
      session.filter = sessionUpstreams.filter;
      session.initialized = plainInitialized;
      session.logLevel = state.level;
      session.hasStoredState = state.isStored;
      session.onEnd(() => shared.sessionEnded(session, 'http'));
      sessions.add(session);
      isAdded = true;
      sessionUpstreams.openAgain(session);
      void this.#subscribeAgain(session, sender, state);
      // Lists may have changed while the client had no session here.
      for (const kind of listKinds) session.tellChanged(kind);
      shared.count('session.continued');
      shared.sessionContinued(session);
      record(session, sender);
    } finally {
      if (!isAdded) sessions.giveUp(principal);
    }
  }

  /**
   * Whether no backend keeps state of a session in its processes. The config says so, or the backend is modern. One
   * that cannot be asked may be legacy.
   */
  async mayLoseProcesses({ backends }: Endpoint, principal: Principal): Promise<boolean> {
    const { currentGeneration, upstreams } = this.#pipeline.shared;
    const keeping = backends.filter((name) => {
      const backend = currentGeneration.now.backends.of(name, principal);
      return backend?.processes !== undefined && backend.isStateless !== true;
    });
    const eras = keeping.map(async (name) => (await upstreams.discover(name, principal, 'legacy')).eras);
    const found = await Promise.allSettled(eras);
    return found.every((one) => one.status === 'fulfilled' && !one.value.includes('legacy'));
  }

  /**
   * As the client's own requests: the rules of the moment decide about each. One after the other, so that they take one
   * place among the requests in flight. The stored state is replaced when all of them are over.
   */
  async #subscribeAgain(session: Session, sender: SessionSender, { subscriptions }: StoredSessionState): Promise<void> {
    const { endpoint, generation, principal, credentials } = sender;
    const { warn, work, sessionRecords } = this.#pipeline.shared;
    if (subscriptions.length === 0) return;
    session.records = undefined;
    for (const [index, uri] of subscriptions.entries()) {
      if (session.ended || work.draining) return;
      const bytes = requestBytes(`"again-${index}"`, 'resources/subscribe', JSON.stringify({ uri }));
      const message = skimMessage(bytes) as Request;
      const header = (name: string) => (name === 'mcp-session-id' ? session.id : undefined);
      const failure = await new Promise<Failure | undefined>((over) => {
        const arrival = { message, header, reply: new UnreadReply(over) };
        this.#pipeline.take(new RequestContext(generation, endpoint, 'legacy', { principal, credentials }, arrival));
      });
      if (failure !== undefined) warn('a subscription of a continued session ends', { reason: failure.reason });
      // The resource may have changed while the client had no session here.
      else if (session.subscriptions.backendOf(uri) !== undefined) session.tellUpdated(uri);
    }
    session.records = sessionRecords;
    sessionRecords.changed(session);
  }
}

/** The id alone has proved that it may go on: no rule was asked about it. */
function record({ id, principal, endpoint }: Session, { generation, credentials }: SessionSender): void {
  const address = credentials === 'local' ? undefined : generation.addresses.of(credentials) || undefined;
  const act = { principal, address, endpoint: endpoint.path, action: 'continue', session: sessionTag(id) } as const;
  generation.authorizer.trail.acted(act);
}

const ignore = (): void => undefined;

/** Of a request that the gateway makes in its client's name. Only a failure is told. */
class UnreadReply implements Reply, Outlet {
  readonly carries = false;
  readonly #over: (failure?: Failure) => void;

  constructor(over: (failure?: Failure) => void) {
    this.#over = over;
  }

  readonly carry = ignore;
  readonly accepted = ignore;
  readonly respond = ignore;
  readonly send = ignore;
  readonly pause = ignore;
  readonly onAbandoned = ignore;

  refuse(failure: Failure): void {
    this.#over(failure);
  }

  open(): readonly Outlet[] {
    return [this];
  }

  settle(settlement: Settlement): void {
    this.#over(settlement.kind === 'failure' ? settlement.failure : undefined);
  }
}
