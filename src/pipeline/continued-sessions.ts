/**
 * Continues a legacy session that this process does not know, from its sealed id: after a restart, or where another
 * process opened it. Its backends are opened again, which loses nothing where they keep no state of a session in this
 * process. What the client asked for since `initialize` is repeated.
 */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Outlet, Reply, Settlement } from '../exchange/outlet.ts';
import type { Principal } from '../identity/principal.ts';
import { plainInitialized } from '../session/initialized.ts';
import type { Session } from '../session/session.ts';
import type { SessionState } from '../session/session-records.ts';
import type { SealedSession } from '../session/session-seal.ts';
import { requestBytes } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { listKinds } from '../wire/subscription-filter.ts';
import { RequestContext } from './context.ts';
import { newSession, newStreams } from './open.ts';
import type { Pipeline } from './pipeline.ts';

/** Clocks of machines that share sessions may differ by this much. */
const CLOCKS_APART_MS = 60_000;

const UNREADABLE = 'Session not found: the store cannot be read, which says whether it has ended';

/** A request that names a session. */
export type SessionSender = Pick<RequestContext, 'endpoint' | 'principal' | 'credentials' | 'generation'>;

export class ContinuedSessions {
  readonly #pipeline: Pipeline;
  /** By id: requests that arrive meanwhile wait for the same. */
  readonly #continuing = new Map<string, Promise<void>>();

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
  }

  /** Rejects with a Failure where the session cannot be continued. Afterwards `Sessions.find` finds it. */
  continue(id: string, sender: SessionSender): Promise<void> {
    const sealed = this.opened(id, sender.endpoint, sender.principal);
    if (sealed === undefined) return Promise.reject(new Failure('session_not_found'));
    const known = this.#continuing.get(id);
    if (known !== undefined) return known;
    const continuing = this.#continue(id, sealed, sender).finally(() => this.#continuing.delete(id));
    this.#continuing.set(id, continuing);
    return continuing;
  }

  /** What was fixed when the session was opened. Undefined where the id is not ours, or too old. */
  opened(id: string, { path, profile }: Endpoint, principal: Principal): SealedSession | undefined {
    const { sessionSeal, timeOfDay, limits, sessions } = this.#pipeline.shared;
    if (sessions.has(id)) return undefined;
    const sealed = sessionSeal().open(id, { endpoint: path, principal: principal.key });
    if (sealed === undefined || !profile.revisions.includes(sealed.client.revision)) return undefined;
    const age = timeOfDay() - sealed.issuedAt;
    return age > limits.sessionMaxMs || age < -CLOCKS_APART_MS ? undefined : sealed;
  }

  /** The session has ended, and is continued nowhere. Resolves when that is stored. */
  async end(id: string, { issuedAt }: SealedSession): Promise<void> {
    const { sessionRecords, limits } = this.#pipeline.shared;
    await this.#stateOf(id);
    await sessionRecords.endedAt(id, issuedAt + limits.sessionMaxMs);
  }

  /** Rejects with a Failure for a session that has ended, or may have. */
  async #stateOf(id: string): Promise<SessionState> {
    const state = await this.#pipeline.shared.sessionRecords.read(id).catch((cause: unknown) => {
      // A client that gets this opens a new session.
      throw new Failure('session_not_found', { message: UNREADABLE, cause });
    });
    if (state === undefined) throw new Failure('session_not_found');
    return state;
  }

  async #continue(id: string, { issuedAt, client }: SealedSession, sender: SessionSender): Promise<void> {
    const { shared, sessionUpstreams } = this.#pipeline;
    const { sessions, limits, timeOfDay, currentGeneration } = shared;
    const { endpoint, principal } = sender;
    sessions.reserve(principal);
    let isAdded = false;
    try {
      const state = await this.#stateOf(id);
      if (!(await this.#mayLoseProcesses(endpoint, principal))) throw new Failure('session_not_found');
      const seal = { until: issuedAt + limits.sessionMaxMs, age: Math.max(0, timeOfDay() - issuedAt) };
      const place = currentGeneration.place(endpoint);
      const streams = newStreams(shared, id, client.revision, true);
      const session = newSession(shared, { id, principal, endpoint: place, client, seal }, streams);
      session.filter = sessionUpstreams.filter;
      session.initialized = plainInitialized;
      session.logLevel = state.level;
      session.onEnd(() => shared.sessionEnded(session, 'http'));
      sessions.add(session);
      isAdded = true;
      sessionUpstreams.openAgain(session);
      this.#subscribeAgain(session, sender, state);
      // They may have changed while nobody listened.
      for (const kind of listKinds) session.tellChanged(kind);
      shared.count('session.continued');
    } finally {
      if (!isAdded) sessions.giveUp(principal);
    }
  }

  /** Whether no backend keeps state of a session in its processes. The config says so, or the backend is modern. */
  async #mayLoseProcesses({ backends }: Endpoint, principal: Principal): Promise<boolean> {
    const { currentGeneration, upstreams } = this.#pipeline.shared;
    const { config } = currentGeneration.now;
    const keeping = config.backends.filter(
      (backend) => backends.includes(backend.name) && backend.kind === 'stdio' && backend.state !== 'none',
    );
    const found = await Promise.all(keeping.map(({ name }) => upstreams.discover(name, principal, 'legacy')));
    return found.every(({ eras }) => !eras.includes('legacy'));
  }

  /** As the client's own requests: the rules of the moment decide about each. */
  #subscribeAgain(session: Session, sender: SessionSender, { subscriptions }: SessionState): void {
    const { endpoint, generation, principal, credentials } = sender;
    const failed = (failure: Failure) =>
      this.#pipeline.shared.warn('a subscription of a continued session ends', { reason: failure.reason });
    for (const [index, uri] of subscriptions.entries()) {
      const bytes = requestBytes(`"again-${index}"`, 'resources/subscribe', JSON.stringify({ uri }));
      const message = skimMessage(bytes) as Request;
      const header = (name: string) => (name === 'mcp-session-id' ? session.id : undefined);
      const arrival = { message, header, reply: new UnreadReply(failed) };
      this.#pipeline.take(new RequestContext(generation, endpoint, 'legacy', { principal, credentials }, arrival));
    }
  }
}

const ignore = (): void => undefined;

/** Of a request that the gateway makes in its client's name. Only a failure is told. */
class UnreadReply implements Reply, Outlet {
  readonly carries = false;
  readonly #failed: (failure: Failure) => void;

  constructor(failed: (failure: Failure) => void) {
    this.#failed = failed;
  }

  readonly carry = ignore;
  readonly accepted = ignore;
  readonly respond = ignore;
  readonly send = ignore;
  readonly pause = ignore;
  readonly onAbandoned = ignore;

  refuse(failure: Failure): void {
    this.#failed(failure);
  }

  open(): readonly Outlet[] {
    return [this];
  }

  settle(settlement: Settlement): void {
    if (settlement.kind === 'failure') this.#failed(settlement.failure);
  }
}
