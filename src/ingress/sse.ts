/**
 * HTTP+SSE, the transport of 2024-11-05: one stream for everything that we say, one address for everything that the client
 * says. The stream's end is the session's end.
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors.ts';
import type { Endpoint, Line, SessionRequest } from '../exchange/arrival.ts';
import type { Batch, Message } from '../wire/message.ts';
import { readMessage } from '../wire/scan.ts';
import { encodeEvent } from '../wire/sse.ts';
import type { HttpAnswer } from './answer.ts';
import { type BodySink, checkContentType, readBody } from './body.ts';
import { faultFailure } from './fault.ts';
import { respondEmpty, respondFailure } from './respond.ts';
import type { Route } from './routes.ts';
import { SseConnection } from './stream.ts';
import {
  bodyLimits,
  credentialsOf,
  depthLimit,
  orFault,
  refuseStream,
  refuseUnread,
  type Shared,
  sessionRequest,
} from './streamable.ts';

export type SseRoute = Extract<Route, { kind: 'sse' }>;
export type MessagesRoute = Extract<Route, { kind: 'messages' }>;

/** Whoever knows the id can speak for the session: it must not be guessable. */
const ID_BYTES = 24;

interface OpenLine {
  readonly endpoint: Endpoint;
  readonly line: Line;
}

export class HttpSse {
  readonly #shared: Shared;
  readonly #lines = new Map<string, OpenLine>();

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** GET: opens the stream. Its first event names the address for POSTs. */
  async open(req: IncomingMessage, res: HttpAnswer, route: SseRoute): Promise<void> {
    const { endpoint, messages } = route;
    if (refuseStream(req, res, endpoint, this.#shared)) return;
    const connection = new SseConnection(res, this.#shared, { event: 'message', held: true });
    const line = await orFault<Line>(this.#shared, () =>
      this.#shared.gateway.connect(endpoint, credentialsOf(req), 'sse', connection),
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

  /** POST: one message. Its answer comes on the stream. */
  receive(req: IncomingMessage, res: HttpAnswer, route: MessagesRoute): void {
    const failure = checkContentType(req);
    if (failure === undefined)
      readBody(req, res, bodyLimits(this.#shared, route.endpoint), this.#sink(req, res, route));
    else respondFailure(res, failure, { era: 'legacy' });
  }

  #sink(req: IncomingMessage, res: HttpAnswer, route: MessagesRoute): BodySink {
    const unread = (failure: Failure) => refuseUnread(this.#shared, res, messageRequest(req, route), failure, 'legacy');
    return {
      // Size and time come before the question of who it is.
      unreadable: (failure) => respondFailure(res, failure, { era: 'legacy' }),
      body: (bytes) => {
        try {
          const message = readMessage(bytes, depthLimit(this.#shared, route.endpoint));
          this.#admit(message, req, res, route).catch((error: unknown) =>
            unread(faultFailure(error, this.#shared.notes)),
          );
        } catch (error) {
          unread(faultFailure(error, this.#shared.notes));
        }
      },
    };
  }

  /** Who sends it comes first; which session it is for after that. */
  async #admit(message: Message | Batch, req: IncomingMessage, res: HttpAnswer, route: MessagesRoute): Promise<void> {
    const sessionId = sessionIdOf(req.url ?? '');
    const open = sessionId === undefined ? undefined : this.#lines.get(sessionId);
    const request = messageRequest(req, route);
    // Whether there is such a line is known to its owner alone: whatever else is wrong is told after that.
    const line = open?.endpoint.path === route.endpoint.path ? open.line : undefined;
    const sender =
      line === undefined
        ? await this.#shared.gateway.unread(request, unknownLine(sessionId), message)
        : await line.admits(request.credentials, message);
    const failure = sender instanceof Failure ? sender : await this.#refusal(request, message);
    if (sender instanceof Failure || failure !== undefined) {
      const id = message.kind === 'request' ? message.id.raw : undefined;
      respondFailure(res, failure ?? unknownLine(sessionId), { era: 'legacy', id });
      return;
    }
    respondEmpty(res, 202);
    line?.receive(message, sender);
  }

  async #refusal(request: SessionRequest, message: Message | Batch): Promise<Failure | undefined> {
    if (message.kind === 'batch')
      return this.#shared.gateway.unread(request, new Failure('unsupported_mcp_batch'), message);
    return message.kind === 'request' && this.#shared.closing() ? new Failure('shutting_down') : undefined;
  }
}

/** A client on this transport knows the address of the stream: a token is for that one, and so is what it is told. */
function messageRequest(req: IncomingMessage, route: MessagesRoute): SessionRequest {
  const { url = '', rawHeaders } = req;
  const query = url.indexOf('?');
  const told = query === -1 ? route.stream : `${route.stream}${url.slice(query)}`;
  return { ...sessionRequest(req, route), credentials: { rawHeaders, url: told } };
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
