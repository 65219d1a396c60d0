/**
 * HTTP+SSE, the transport of 2024-11-05: one stream for all messages to the client, one address for all messages from
 * it. The session ends with the stream.
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint, PersistentConnection } from '../exchange/arrival.ts';
import type { Batch, Message } from '../wire/message.ts';
import { readMessage } from '../wire/scan.ts';
import { encodeEvent } from '../wire/sse.ts';
import type { HttpAnswer } from './answer.ts';
import { type BodySink, checkContentType } from './body.ts';
import { faultFailure } from './fault.ts';
import { respondEmpty, respondFailure } from './respond.ts';
import type { Route } from './routes.ts';
import { SseConnection } from './stream.ts';
import { depthLimit, headersOf, orFault, readInTurn, refuseStream, refuseUnread, type Shared } from './streamable.ts';

export type SseRoute = Extract<Route, { kind: 'sse' }>;
export type MessagesRoute = Extract<Route, { kind: 'messages' }>;

/** The session id must not be guessable: with it, messages can be sent in that session. */
const ID_BYTES = 24;

interface OpenLine {
  readonly endpoint: Endpoint;
  readonly line: PersistentConnection;
}

export class HttpSse {
  readonly #shared: Shared;
  readonly #lines = new Map<string, OpenLine>();

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** GET: opens the stream. Its first event names the address for POSTs. */
  async open(req: IncomingMessage, res: HttpAnswer, route: SseRoute, sender: Authenticated): Promise<void> {
    const { endpoint, messages } = route;
    if (refuseStream(req, res, endpoint, this.#shared)) return;
    const hop = this.#shared.gateway.hop({ endpoint, header: headersOf(req) });
    if (hop instanceof Failure) {
      respondFailure(res, hop, { era: 'legacy' });
      return;
    }
    const named = { event: 'message', held: true, ...(hop && { headers: hop }) };
    const connection = new SseConnection(res, this.#shared, named);
    const line = await orFault<PersistentConnection>(this.#shared, () =>
      this.#shared.gateway.connect(endpoint, sender, 'sse', connection),
    );
    if (line instanceof Failure) {
      respondFailure(res, line, { era: 'legacy' });
      return;
    }
    const id = randomBytes(ID_BYTES).toString('base64url');
    this.#lines.set(id, { endpoint, line });
    connection.onClose(() => {
      this.#lines.delete(id);
      line.close();
    });
    connection.open(encodeEvent({ event: 'endpoint', data: `${messages}?sessionId=${id}` }));
  }

  /** POST: one message. Its response comes on the stream. */
  receive(req: IncomingMessage, res: HttpAnswer, { endpoint }: MessagesRoute, sender: Authenticated): void {
    const failure = checkContentType(req);
    const sink: BodySink = {
      unreadable: (unread) => respondFailure(res, unread, { era: 'legacy' }),
      body: (bytes) => {
        try {
          this.#take(readMessage(bytes, depthLimit(this.#shared, endpoint)), req, res, endpoint, sender);
        } catch (error) {
          refuseUnread(this.#shared, res, endpoint, sender, faultFailure(error, this.#shared.notes), 'legacy');
        }
      },
    };
    if (failure === undefined) readInTurn(req, res, endpoint, sender, sink, this.#shared);
    else respondFailure(res, failure, { era: 'legacy' });
  }

  #take(
    message: Message | Batch,
    req: IncomingMessage,
    res: HttpAnswer,
    endpoint: Endpoint,
    sender: Authenticated,
  ): void {
    const sessionId = sessionIdOf(req.url ?? '');
    const open = sessionId === undefined ? undefined : this.#lines.get(sessionId);
    // Only the owner may learn that a connection exists, so `refusal` checks the sender before anything else is
    // reported.
    const line = open?.endpoint.path === endpoint.path ? open.line : undefined;
    const failure =
      line === undefined ? unknownLine(sessionId) : (line.refusal(sender, message) ?? this.#refusal(message));
    if (line !== undefined && failure === undefined) {
      respondEmpty(res, 202);
      line.receive(message, sender);
      return;
    }
    const told = failure ?? unknownLine(sessionId);
    if (line === undefined || message.kind === 'batch') this.#shared.gateway.unread({ endpoint, sender }, told);
    respondFailure(res, told, { era: 'legacy', id: message.kind === 'request' ? message.id.raw : undefined });
  }

  #refusal(message: Message | Batch): Failure | undefined {
    if (message.kind === 'batch') return new Failure('unsupported_mcp_batch');
    return message.kind === 'request' && this.#shared.closing() ? new Failure('shutting_down') : undefined;
  }
}

function unknownLine(sessionId: string | undefined): Failure {
  return sessionId === undefined
    ? new Failure('session_required', { message: 'sessionId is required' })
    : new Failure('session_not_found');
}

function sessionIdOf(url: string): string | undefined {
  const query = url.indexOf('?');
  return query === -1 ? undefined : new URLSearchParams(url.slice(query)).get('sessionId') || undefined;
}
