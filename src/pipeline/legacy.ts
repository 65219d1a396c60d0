/** What a legacy client can send. Everything but `initialize` belongs to a session. */

import { Failure } from '../errors/failure.ts';
import { readCancelled } from '../exchange/cancelled.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { denyBatch } from '../policy/profile.ts';
import { ConnectionDownstream, type Downstream, nowhere, StreamsDownstream } from '../session/downstream.ts';
import { Session, type SessionFacts } from '../session/session.ts';
import { readBatch } from '../wire/batch.ts';
import { notificationBytes, resultBytes } from '../wire/compose.ts';
import type { Batch, Message, Notification, Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { hasPolling, type Revision } from '../wire/revisions.ts';
import { skimMessage } from '../wire/skim.ts';
import { readVia, VIA } from '../wire/via.ts';
import { checkVersionHeader } from './admit.ts';
import { isToldByStatus, onlyBackend, rejected } from './authorize.ts';
import { BatchMembers } from './batch.ts';
import { demandScopes } from './check-scopes.ts';
import type { ConfigChange } from './config-change.ts';
import type { ConnectionState, SessionOpening } from './connection-state.ts';
import type { RequestContext } from './context.ts';
import { outlived } from './credential-expiry.ts';
import { initializeResult, readInitialize, readStranger } from './handshake.ts';
import { filterSession } from './interceptors/response-filter.ts';
import { streamOf } from './open.ts';
import type { Pipeline } from './pipeline.ts';
import type { SharedServices } from './services.ts';
import type { SessionUpstreams } from './session-upstreams.ts';

/** 48 random bits: two sessions do not get the same tag by accident. The tag need not be unguessable. */
const STREAM_TAG_CHARACTERS = 8;

export class LegacyFront {
  readonly #pipeline: Pipeline;
  readonly #shared: SharedServices;
  readonly #upstreams: SessionUpstreams;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.#shared = pipeline.shared;
    this.#upstreams = pipeline.sessionUpstreams;
  }

  receive(context: RequestContext): void | Promise<void> {
    const { message, reply, header, connection } = context;
    if (message.kind === 'batch') return this.#batch(context, message);
    if (message.kind === 'request' && message.method === 'initialize') return this.#initialize(context, message);
    if (message.kind === 'request' && message.method === 'ping' && connection !== undefined) {
      this.#decide(context, rowOf('ping'), undefined, message).over?.({ outcome: 'result' });
      reply.respond(resultBytes(message.id.raw, '{}'));
      return;
    }
    if (connection?.opening !== undefined) return this.#afterOpening(context, connection.opening);
    const session = this.#isOneOff(context) ? this.#stranger(context) : this.session(context);
    context.session = session;
    checkVersionHeader(header?.('mcp-protocol-version'), session.client.revision);
    if (message.kind !== 'request') {
      const row = this.#decideOneWay(context, session, message);
      this.#oneWay(context, session, message, row);
      reply.accepted();
      return;
    }
    this.#admit(session, 1);
    context.request = message;
    this.#pipeline.request(context);
  }

  /** The session continues under the new config, or ends as soon as its running requests are done. */
  renewed(session: Session, renewal: ConfigChange, isBound: boolean): void {
    const { sessions, limits } = this.#shared;
    const { endpoint, principal } = session;
    const isClosed = renewal.closed.has(endpoint.path);
    if (!isBound && !isClosed && !renewal.isWelcome(endpoint.path, principal))
      sessions.end(session, outlived(principal));
    else if (isClosed || !this.#upstreams.renewed(session, renewal))
      sessions.retire(session, new Failure('session_ended'), limits.drainMs);
  }

  /** The session that a message names, or that belongs to its connection. */
  session(context: Pick<RequestContext, 'endpoint' | 'principal' | 'header' | 'connection'>): Session {
    if (context.connection !== undefined) {
      if (context.connection.session === undefined)
        throw new Failure('session_required', { message: 'Not initialized' });
      return context.connection.session;
    }
    const id = context.header?.('mcp-session-id');
    if (id === undefined) throw new Failure('session_required');
    const session = this.#shared.sessions.find(id, context.principal, context.endpoint);
    if (session === undefined) throw new Failure('session_not_found');
    return session;
  }

  /**
   * A client on a persistent connection may send before `initialize` is answered: its messages wait, and keep their
   * order.
   */
  async #afterOpening(context: RequestContext, opening: SessionOpening): Promise<void> {
    if (opening.waiting >= this.#shared.limits.inFlightPerSession) throw new Failure('too_many_requests');
    opening.waiting += 1;
    await opening.answered;
    return this.receive(context);
  }

  /** Some clients never send the session id back. With `sessions: optional` an endpoint serves them all the same. */
  #isOneOff({ endpoint, header, connection }: RequestContext): boolean {
    return endpoint.sessions === 'optional' && connection === undefined && header?.('mcp-session-id') === undefined;
  }

  /** A session for one message. Its client declares no capabilities, so it gets no server requests. */
  #stranger({ endpoint, principal, header }: RequestContext): Session {
    const client = readStranger(header?.('mcp-protocol-version'), endpoint.profile);
    return this.#newSession({ id: this.#shared.newId(), principal, endpoint, client }, nowhere);
  }

  #newSession(facts: SessionFacts, downstream: Downstream): Session {
    const { limits, clock, work } = this.#shared;
    const session = new Session(facts, downstream, limits, clock);
    session.onSettled = () => work.end();
    return session;
  }

  async #initialize(context: RequestContext, request: Request): Promise<void> {
    const { endpoint, principal, reply, connection } = context;
    // A second `initialize` is refused and changes nothing. An unknown session id gets its own failure.
    if (
      connection !== undefined
        ? (connection.opening ?? connection.session) !== undefined
        : context.header?.('mcp-session-id') !== undefined
    ) {
      if (connection === undefined) this.session(context);
      throw new Failure('session_exists');
    }
    const via = readVia(context.header?.(VIA));
    const client = { ...readInitialize(request, endpoint.profile), ...(via.length > 0 && { via }) };
    const { permit, over } = this.#decide(context, rowOf('initialize'), client.revision, request);

    const { currentGeneration, sessions } = this.#shared;
    const id = this.#shared.newId();
    const downstream =
      connection === undefined ? this.#streams(id, client.revision) : new ConnectionDownstream(connection.connection);
    const place = currentGeneration.place(endpoint);
    const session = this.#newSession({ id, principal, endpoint: place, client }, downstream);
    filterSession(this.#shared.currentGeneration, session);
    let outcome: 'result' | 'error' = 'error';
    try {
      sessions.reserve(principal);
    } catch (error) {
      over?.({ outcome });
      throw error;
    }
    this.#shared.work.begin();
    const opened = connection === undefined ? undefined : open(connection);
    let added = false;
    try {
      const discovery = await this.#upstreams.open(session, permit);
      outcome = 'result';
      // The client disconnected while the session was being opened, when there was no session to end yet.
      if (connection?.closed === true) {
        session.end(new Failure('session_ended'));
        return;
      }
      // A reload may have changed or removed the endpoint meanwhile.
      if (!currentGeneration.now.endpoints.has(endpoint.path)) throw new Failure('path_not_found');
      this.#upstreams.reshape(session);
      if (connection !== undefined) connection.session = session;
      // The one client of stdio may stay as long as it likes. All other sessions count against the limits.
      if (connection?.via !== 'stdio') {
        sessions.add(session);
        added = true;
      }
      const result = resultBytes(request.id.raw, initializeResult(client.revision, discovery));
      reply.respond(result, connection === undefined ? { 'Mcp-Session-Id': id } : {});
    } finally {
      if (!added) sessions.giveUp(principal);
      this.#shared.work.end();
      opened?.();
      over?.({ outcome });
    }
  }

  #streams(sessionId: string, revision: Revision): StreamsDownstream {
    const { newId, events, limits } = this.#shared;
    const tag = newId().slice(0, STREAM_TAG_CHARACTERS);
    return new StreamsDownstream({ sessionId, tag, polls: hasPolling(revision) }, events, limits);
  }

  /** Revision 2025-03-26 only. Every member is authorized before any of them is executed, and one denial denies all. */
  #batch(context: RequestContext, batch: Batch): void | Promise<void> {
    const { endpoint, header } = context;
    if (endpoint.profile.batches === 'deny') throw new Failure('unsupported_mcp_batch');
    const session = this.session(context);
    context.session = session;
    checkVersionHeader(header?.('mcp-protocol-version'), session.client.revision);
    const denied = denyBatch(endpoint.profile, session.client.revision);
    if (denied !== undefined) throw denied;
    const { jsonDepth, batchMembers } = this.#shared.limits;
    const messages = readBatch(batch, { depth: endpoint.profile.jsonDepth ?? jsonDepth, members: batchMembers });
    demandScopes(context, messages);
    this.#admit(session, messages.filter(({ kind }) => kind === 'request').length);
    const members = new BatchMembers(messages, {
      oneWay: (message) => this.#decideOneWay(context, session, message),
      request: (message) => context.member(message),
      clear: (member) => this.#pipeline.clear(member),
    });
    if (context.authorizer.isOpen) return this.#doBatch(context, session, members);
    return members.decided().then((denial) => this.#doBatch(context, session, members, denial));
  }

  #doBatch(context: RequestContext, session: Session, members: BatchMembers, denial?: Failure): void {
    const { reply } = context;
    const { requests } = members;
    if (denial !== undefined && (requests.length === 0 || isToldByStatus(denial))) throw denial;
    if (denial === undefined)
      for (const { message, row } of members.oneWay) this.#oneWay(context, session, message, row);
    if (requests.length === 0) {
      reply.accepted();
      return;
    }
    const options = { era: 'legacy', requests: requests.length, batch: true, longLived: false } as const;
    for (const [index, outlet] of reply.open({ ...options, stream: streamOf(session) }).entries()) {
      const member = requests[index];
      if (member === undefined) continue;
      this.#pipeline.exchanges.openInSession(member.context, session, outlet);
      this.#pipeline.call(member.context, denial === undefined ? member.cleared : rejected(denial));
    }
  }

  #admit(session: Session, requests: number): void {
    if (session.inflight.size + requests > this.#shared.limits.inFlightPerSession) {
      throw new Failure('too_many_requests');
    }
  }

  /** For messages that concern all backends of the endpoint together. */
  #decide(
    { principal, endpoint, authorizer }: RequestContext,
    row: MethodRow,
    revision: Revision | undefined,
    message: Message,
  ): Authorization {
    return authorizer.ask({ principal, endpoint, row, backend: onlyBackend(endpoint), revision, message });
  }

  /**
   * Returns the row of a notification that is known and allowed. A response has no method that a rule could name: it
   * goes to the server request that waits for it, and nowhere else.
   */
  #decideOneWay(context: RequestContext, session: Session, message: Exclude<Message, Request>): MethodRow | undefined {
    const row = message.kind === 'notification' ? methodRow(message.method) : undefined;
    if (row === undefined || row.kind !== 'notification' || row.from === 'server') return undefined;
    this.#decide(context, row, session.client.revision, message).over?.({ outcome: 'result' });
    return row;
  }

  #oneWay(
    { principal, endpoint, authorizer }: RequestContext,
    session: Session,
    message: Exclude<Message, Request>,
    row: MethodRow | undefined,
  ): void {
    if (message.kind === 'notification') this.#notification(session, principal, message, row);
    // A response that no server request waits for is dropped. It never reaches a backend.
    else if (!session.asks.answer(message)) {
      this.#shared.count('exchange.unasked_response');
      authorizer.dropped({ principal, endpoint, message });
    }
  }

  #notification(session: Session, principal: Principal, message: Notification, row: MethodRow | undefined): void {
    if (row === undefined) return;
    if (row.method === 'notifications/cancelled') {
      const cancelled = readCancelled(message);
      if (cancelled !== undefined) session.cancel(cancelled.id, cancelled.reason);
      return;
    }
    if (row.method === 'notifications/initialized') session.initialized = kept(message);
    this.#upstreams.notify(session, principal, message, row);
  }
}

/**
 * The session keeps the notification for backends that are opened later: as a copy, and without parameters where it is
 * longer than `INITIALIZED_BYTES`.
 */
function kept(message: Notification): Notification {
  if (message.bytes.byteLength > INITIALIZED_BYTES)
    return skimMessage(notificationBytes(message.method)) as Notification;
  return { ...message, bytes: new Uint8Array(message.bytes) };
}

const INITIALIZED_BYTES = 4 * 1024;

/** Returns a function to call when `initialize` has been answered, with a result or an error. */
function open(connection: ConnectionState): () => void {
  let done: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    done = resolve;
  });
  connection.opening = { answered, waiting: 0 };
  return () => {
    connection.opening = undefined;
    done();
  };
}

function rowOf(method: string) {
  const row = methodRow(method);
  if (row === undefined) throw new Failure('internal_error', { cause: new Error(`no row for ${method}`) });
  return row;
}
