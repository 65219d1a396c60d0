/** What a legacy client can send. Everything but `initialize` (initialize.ts) belongs to a session. */

import { Failure } from '../errors/failure.ts';
import { readCancelled } from '../exchange/cancelled.ts';
import { whenKnown } from '../exchange/on-fulfilled.ts';
import type { Trace } from '../exchange/trace.ts';
import type { Principal } from '../identity/principal.ts';
import { denyBatch } from '../policy/profile.ts';
import { nowhere } from '../session/downstream.ts';
import { keptInitialized } from '../session/initialized.ts';
import type { Session } from '../session/session.ts';
import { readBatch } from '../wire/batch.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Batch, Notification } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { checkVersionHeader } from './admit.ts';
import { authorizeForAll, authorizeOneWay, isToldByStatus, type OneWayMessage, rejected } from './authorize.ts';
import { BatchMembers } from './batch.ts';
import { demandScopes } from './check-scopes.ts';
import type { ConfigChange } from './config-change.ts';
import type { SessionOpening } from './connection-state.ts';
import type { RequestContext } from './context.ts';
import type { SessionSender } from './continued-sessions.ts';
import { outlived } from './credential-expiry.ts';
import { readStranger } from './handshake.ts';
import { initialize } from './initialize.ts';
import { newSession, streamOf } from './open.ts';
import type { Pipeline } from './pipeline.ts';
import type { SharedServices } from './services.ts';
import type { SessionUpstreams } from './session-upstreams.ts';

const ping = methodRow('ping') as MethodRow;

/** A message, or a request without one, that names a session. */
export type NamingSession = SessionSender & Pick<RequestContext, 'header' | 'connection'>;

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
    if (message.kind === 'request' && message.method === 'initialize') {
      this.#refuseSecond(context);
      return initialize(this.#pipeline, context, message);
    }
    if (message.kind === 'request' && message.method === 'ping' && connection !== undefined) {
      return whenKnown(authorizeForAll(context, ping, undefined, message), (authorization) => {
        authorization.over?.({ outcome: 'result' });
        reply.respond(resultBytes(message.id.raw, '{}'));
      });
    }
    if (connection?.opening !== undefined) return this.#afterOpening(context, connection.opening);
    const session = this.#isOneOff(context) ? this.#stranger(context) : this.session(context);
    if (session === undefined) return this.continued(context).then(() => this.receive(context));
    context.session = session;
    checkVersionHeader(header?.('mcp-protocol-version'), session.client.revision);
    if (message.kind !== 'request') {
      return whenKnown(authorizeOneWay(context, session.client.revision, message), (row) => {
        this.#oneWay(context, session, message, row);
        reply.accepted();
      });
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
      void sessions.end(session, outlived(principal));
    else if (isClosed || !this.#upstreams.renewed(session, renewal))
      sessions.retire(session, new Failure('session_ended'), limits.drainMs);
  }

  /** The session that a message names, or that belongs to its connection. Undefined where it is not known here. */
  session(context: NamingSession): Session | undefined {
    if (context.connection !== undefined) {
      if (context.connection.session === undefined)
        throw new Failure('session_required', { message: 'Not initialized' });
      return context.connection.session;
    }
    const id = context.header?.('mcp-session-id');
    if (id === undefined) throw new Failure('session_required');
    return this.#shared.sessions.find(id, context.principal, context.endpoint);
  }

  /** Continues the session that a message names. Rejects with a Failure where that is not possible. */
  async continued(context: NamingSession): Promise<Session> {
    await this.#pipeline.continued.continue(context.header?.('mcp-session-id') ?? '', context);
    const session = this.session(context);
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
    return newSession(this.#shared, { id: this.#shared.newId(), principal, endpoint, client }, nowhere);
  }

  /** A second `initialize` changes nothing. An unknown session id gets its own failure. */
  #refuseSecond(context: RequestContext): void {
    const { connection, header } = context;
    if (connection === undefined) {
      if (header?.('mcp-session-id') === undefined) return;
      if (this.session(context) === undefined) throw new Failure('session_not_found');
    } else if ((connection.opening ?? connection.session) === undefined) return;
    throw new Failure('session_exists');
  }

  /** Revision 2025-03-26 only. Every member is authorized before any of them is executed, and one denial denies all. */
  #batch(context: RequestContext, batch: Batch): void | Promise<void> {
    const { endpoint, header } = context;
    if (endpoint.profile.batches === 'deny') throw new Failure('unsupported_mcp_batch');
    const session = this.session(context);
    if (session === undefined) return this.continued(context).then(() => this.#batch(context, batch));
    context.session = session;
    checkVersionHeader(header?.('mcp-protocol-version'), session.client.revision);
    const denied = denyBatch(endpoint.profile, session.client.revision);
    if (denied !== undefined) throw denied;
    const { jsonDepth, batchMembers } = this.#shared.limits;
    const messages = readBatch(batch, { depth: endpoint.profile.jsonDepth ?? jsonDepth, members: batchMembers });
    demandScopes(context, messages);
    this.#admit(session, messages.filter(({ kind }) => kind === 'request').length);
    const members = new BatchMembers(this.#pipeline, context, session.client.revision, messages);
    if (context.authorizer.isOpen) return this.#doBatch(context, session, members);
    return members.decided().then((denial) => this.#doBatch(context, session, members, denial));
  }

  #doBatch(context: RequestContext, session: Session, members: BatchMembers, denial?: Failure): void {
    const { reply } = context;
    const { requests } = members;
    if (denial !== undefined && (requests.length === 0 || isToldByStatus(denial))) throw denial;
    if (denial === undefined) {
      for (const { context: member, message, row } of members.oneWay) {
        member.observe(this.#shared, context.startedAt);
        this.#oneWay(member, session, message, row);
        member.ended({ outcome: 'accepted' });
      }
    }
    if (requests.length === 0) {
      reply.accepted();
      return;
    }
    const options = { era: 'legacy', requests: requests.length, batch: true, longLived: false } as const;
    for (const [index, outlet] of reply.open({ ...options, stream: streamOf(session) }).entries()) {
      const member = requests[index];
      if (member === undefined) continue;
      member.context.observe(this.#shared, context.startedAt);
      this.#pipeline.exchanges.openInSession(member.context, session, outlet);
      this.#pipeline.call(member.context, denial === undefined ? member.cleared : rejected(denial));
    }
  }

  #admit(session: Session, requests: number): void {
    if (session.inflight.size + requests > this.#shared.limits.inFlightPerSession) {
      throw new Failure('too_many_requests');
    }
  }

  #oneWay(context: RequestContext, session: Session, message: OneWayMessage, row: MethodRow | undefined): void {
    const { principal, endpoint, authorizer, trace } = context;
    if (message.kind === 'notification') this.#notification(session, principal, message, row, trace);
    // A response that no server request waits for is dropped. It never reaches a backend.
    else if (!session.asks.answer(message)) {
      this.#shared.count('exchange.unasked_response');
      authorizer.trail.dropped({ principal, endpoint, message, sender: context });
    }
  }

  #notification(
    session: Session,
    principal: Principal,
    message: Notification,
    row: MethodRow | undefined,
    trace: Trace | undefined,
  ): void {
    if (row === undefined) return;
    if (row.method === 'notifications/cancelled') {
      const cancelled = readCancelled(message);
      if (cancelled !== undefined) session.cancel(cancelled.id, cancelled.reason);
      return;
    }
    if (row.method === 'notifications/initialized') session.initialized = keptInitialized(message);
    this.#upstreams.notify(session, principal, message, row, trace);
  }
}
