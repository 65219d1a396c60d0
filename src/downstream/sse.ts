/**
 * HTTP+SSE, the transport of 2024-11-05: one stream for all messages to the client, one address for all messages from
 * it. The session ends with the stream.
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { randomBytes } from 'node:crypto';
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint, PersistentConnection } from '../exchange/arrival.ts';
import { memberId, memberNamedBy } from '../exchange/member-id.ts';
import type { Batch, Message } from '../wire/message.ts';
import { readMessage } from '../wire/scan.ts';
import { encodeEvent } from '../wire/sse.ts';
import { checkContentType, IncomingBody } from './body.ts';
import { faultFailure } from './events.ts';
import { headersOf } from './request-headers.ts';
import { type HttpAnswer, respondEmpty, respondFailure } from './respond.ts';
import { SseConnection } from './stream.ts';
import { orFault, refuseStream } from './streamable.ts';

/** The session id must not be guessable: with it, messages can be sent in that session. */
const ID_BYTES = 24;

interface OpenConnection {
  readonly endpoint: Endpoint;
  readonly persistent: PersistentConnection;
}

/** The open streams of a server, by their session ids. */
export type OpenConnections = Map<string, OpenConnection>;

/** GET: opens the stream. Its first event names the address for POSTs, `messages`. */
export async function serveSse(
  res: HttpAnswer,
  endpoint: Endpoint,
  sender: Authenticated,
  messages: string,
  connections: OpenConnections,
): Promise<void> {
  if (refuseStream(res, endpoint)) return;
  const { gateway } = res.shared;
  const hop = gateway.hop({ endpoint, header: headersOf(res.req) });
  if (hop instanceof Failure) {
    respondFailure(res, hop, { era: 'legacy' });
    return;
  }
  const connection = new SseConnection(res, { event: 'message', held: true, ...(hop && { headers: hop }) });
  const persistent = await orFault<PersistentConnection>(res, () =>
    gateway.connect(endpoint, sender, 'sse', connection),
  );
  if (persistent instanceof Failure) {
    respondFailure(res, persistent, { era: 'legacy' });
    return;
  }
  const random = randomBytes(ID_BYTES).toString('base64url');
  const { forwarding } = res.shared;
  const id = forwarding === undefined ? random : memberId(forwarding.member, random);
  connections.set(id, { endpoint, persistent });
  connection.onClose(() => {
    connections.delete(id);
    persistent.close();
  });
  connection.open(encodeEvent({ event: 'endpoint', data: `${messages}?sessionId=${id}` }));
}

/** POST: one message. Its response comes on the stream. */
export function serveMessage(
  res: HttpAnswer,
  endpoint: Endpoint,
  sender: Authenticated,
  connections: OpenConnections,
): void {
  const failure = checkContentType(res);
  if (failure === undefined) new SseMessage(res, endpoint, sender, connections).read();
  else respondFailure(res, failure, { era: 'legacy' });
}

class SseMessage extends IncomingBody {
  readonly #connections: OpenConnections;

  constructor(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated, connections: OpenConnections) {
    super(res, endpoint, sender);
    this.#connections = connections;
  }

  protected received(bytes: Uint8Array): void {
    this.#orUnread(() => {
      const { limits } = this.res.shared;
      const message = readMessage(bytes, { depth: this.endpoint.profile.jsonDepth ?? limits.jsonDepth });
      if (!this.#isForwarded(bytes, message)) this.#take(message);
    });
  }

  /** Whether the stream is at another process, which takes its messages. */
  #isForwarded(body: Uint8Array, message: Message | Batch): boolean {
    const { res, endpoint, sender } = this;
    const { forwarding } = res.shared;
    const boundTo = forwarding && memberNamedBy(sessionIdOf(res.req.url ?? '') ?? '');
    if (boundTo === undefined) return false;
    const serve = () => this.#orUnread(() => this.#take(message));
    return forwarding?.take({ res, endpoint, sender, boundTo, body, message, serve }) === true;
  }

  #orUnread(take: () => void): void {
    const { gateway, notes } = this.res.shared;
    try {
      take();
    } catch (error) {
      const failure = faultFailure(error, notes);
      gateway.unread(this, failure);
      this.unreadable(failure);
    }
  }

  protected unreadable(failure: Failure): void {
    respondFailure(this.res, failure, { era: 'legacy' });
  }

  #take(message: Message | Batch): void {
    const { res, endpoint, sender } = this;
    const sessionId = sessionIdOf(res.req.url ?? '');
    const open = sessionId === undefined ? undefined : this.#connections.get(sessionId);
    // Only the owner may learn that a connection exists, so `refusal` checks the sender before anything else is
    // reported.
    const persistent = open?.endpoint.path === endpoint.path ? open.persistent : undefined;
    const failure =
      persistent === undefined
        ? unknownConnection(sessionId)
        : (persistent.refusal(sender, message) ?? this.#refusal(message));
    if (failure === undefined) {
      respondEmpty(res, 202);
      persistent?.receive(message, sender);
      return;
    }
    if (persistent === undefined || message.kind === 'batch') res.shared.gateway.unread(this, failure);
    respondFailure(res, failure, { era: 'legacy', id: message.kind === 'request' ? message.id.raw : undefined });
  }

  #refusal(message: Message | Batch): Failure | undefined {
    if (message.kind === 'batch') return new Failure('unsupported_mcp_batch');
    return message.kind === 'request' && this.res.shared.gateway.draining ? new Failure('shutting_down') : undefined;
  }
}

function unknownConnection(sessionId: string | undefined): Failure {
  return sessionId === undefined
    ? new Failure('session_required', { message: 'sessionId is required' })
    : new Failure('session_not_found');
}

function sessionIdOf(url: string): string | undefined {
  const query = url.indexOf('?');
  return query === -1 ? undefined : new URLSearchParams(url.slice(query)).get('sessionId') || undefined;
}
