/** Streamable HTTP: POST, GET and DELETE of one MCP endpoint, for both eras. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint, Gateway, HeaderReader, SessionRequest } from '../exchange/arrival.ts';
import type { Connection } from '../exchange/outlet.ts';
import type { Era } from '../wire/revisions.ts';
import { readMessage } from '../wire/scan.ts';
import { type Accepted, checkPost, checkStream, readAccept } from './accept.ts';
import type { HttpAnswer } from './answer.ts';
import { type BodyLimits, type BodySink, checkContentType, readBody } from './body.ts';
import { faultFailure } from './fault.ts';
import type { Replies } from './outlet.ts';
import { PostReply } from './reply.ts';
import { respondEmpty, respondFailure } from './respond.ts';
import { MODERN_ALLOW, type Route } from './routes.ts';
import { SseConnection } from './stream.ts';
import type { FairTurns } from './turns.ts';

/** What all requests of a server share. */
export interface Shared extends Replies {
  readonly gateway: Gateway;
  readonly body: BodyLimits;
  /** For bodies of refused senders. */
  readonly refusedBody: BodyLimits;
  readonly depth: { readonly depth: number };
  readonly turns: FairTurns;
  /** True while shutting down: new requests are refused, but messages that complete open ones are accepted. */
  readonly closing: () => boolean;
}

/** The server's limits, or the endpoint's own. */
export function bodyLimits({ body }: Shared, { profile }: Endpoint): BodyLimits {
  return profile.bodyBytes === undefined ? body : { ...body, bodyBytes: profile.bodyBytes };
}

export function depthLimit({ depth }: Shared, { profile }: Endpoint): Shared['depth'] {
  return profile.jsonDepth === undefined ? depth : { depth: profile.jsonDepth };
}

export type McpRoute = Extract<Route, { kind: 'mcp' }>;

export function serveMcp(
  req: IncomingMessage,
  res: HttpAnswer,
  route: McpRoute,
  sender: Authenticated,
  shared: Shared,
): void {
  if (req.method === 'POST') post(req, res, route, sender, shared);
  else if (req.method === 'GET') void listen(req, res, route, sender, shared);
  else void end(req, res, route, sender, shared);
}

/** The `Allow` header for a method that the client's revision does not have; undefined if it has the method. */
export function allowedFor(req: IncomingMessage, res: HttpAnswer, route: Route): string | undefined {
  const isSession = req.method === 'GET' || req.method === 'DELETE';
  return route.kind === 'mcp' && isSession && res.era === 'modern' ? MODERN_ALLOW : undefined;
}

export function notAllowed(res: HttpAnswer, allow: string): void {
  respondFailure(res, new Failure('method_not_allowed'), { era: res.era, headers: { Allow: allow } });
}

export function headersOf(req: IncomingMessage): HeaderReader {
  return (name) => {
    const value = req.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
}

const PARAM_PREFIX = 'mcp-param-';

function paramHeadersOf(req: IncomingMessage): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  for (const name in req.headers) {
    const value = name.startsWith(PARAM_PREFIX) ? req.headers[name] : undefined;
    if (typeof value !== 'string') continue;
    found ??= {};
    found[name] = value;
  }
  return found;
}

function post(req: IncomingMessage, res: HttpAnswer, route: McpRoute, sender: Authenticated, shared: Shared): void {
  const accepted = readAccept(req.headers.accept);
  const failure = checkContentType(req) ?? checkPost(accepted, route.endpoint.profile);
  if (failure === undefined)
    readInTurn(req, res, route.endpoint, sender, new Post(req, res, route, sender, accepted, shared), shared);
  else respondFailure(res, failure, { era: res.era });
}

/** Reads the body, and processes it when it is the sender's turn. */
export function readInTurn(
  req: IncomingMessage,
  res: HttpAnswer,
  endpoint: Endpoint,
  { principal }: Authenticated,
  sink: BodySink,
  shared: Shared,
): void {
  readBody(req, res, bodyLimits(shared, endpoint), {
    body: (bytes) => shared.turns.begin(principal.key, bytes.byteLength, () => sink.body(bytes)),
    unreadable: (failure) => sink.unreadable(failure),
  });
}

class Post implements BodySink {
  readonly #req: IncomingMessage;
  readonly #res: HttpAnswer;
  readonly #route: McpRoute;
  readonly #sender: Authenticated;
  readonly #accepted: Accepted;
  readonly #shared: Shared;

  constructor(
    req: IncomingMessage,
    res: HttpAnswer,
    route: McpRoute,
    sender: Authenticated,
    accepted: Accepted,
    shared: Shared,
  ) {
    this.#req = req;
    this.#res = res;
    this.#route = route;
    this.#sender = sender;
    this.#accepted = accepted;
    this.#shared = shared;
  }

  body(bytes: Uint8Array): void {
    let reply: PostReply | undefined;
    try {
      const message = readMessage(bytes, depthLimit(this.#shared, this.#route.endpoint));
      reply = new PostReply(this.#res, this.#accepted, message, this.#shared);
      if (this.#shared.closing() && (message.kind === 'request' || message.kind === 'batch')) {
        this.#res.isLast = true;
        reply.refuse(new Failure('shutting_down'), this.#res.era);
        return;
      }
      this.#shared.gateway.receive({
        endpoint: this.#route.endpoint,
        sender: this.#sender,
        header: headersOf(this.#req),
        paramHeaders: paramHeadersOf(this.#req),
        message,
        reply,
      });
    } catch (error) {
      const failure = faultFailure(error, this.#shared.notes);
      const { era } = this.#res;
      if (reply !== undefined) reply.refuse(failure, era);
      else refuseUnread(this.#shared, this.#res, this.#route.endpoint, this.#sender, failure, era);
    }
  }

  unreadable(failure: Failure): void {
    respondFailure(this.#res, failure, { era: this.#res.era });
  }
}

/** Audits a message that could not be read, and responds with the failure. */
export function refuseUnread(
  { gateway }: Shared,
  res: HttpAnswer,
  endpoint: Endpoint,
  sender: Authenticated,
  failure: Failure,
  era: Era,
): void {
  gateway.unread({ endpoint, sender }, failure);
  respondFailure(res, failure, { era });
}

function sessionRequest(req: IncomingMessage, { endpoint }: McpRoute, sender: Authenticated): SessionRequest {
  return { endpoint, sender, header: headersOf(req) };
}

async function listen(
  req: IncomingMessage,
  res: HttpAnswer,
  route: McpRoute,
  sender: Authenticated,
  shared: Shared,
): Promise<void> {
  if (refuseStream(req, res, route.endpoint, shared)) return;
  let connection: SseConnection | undefined;
  const open = (): Connection => {
    connection ??= new SseConnection(res, shared);
    return connection;
  };
  const failure = await orFault(shared, () => shared.gateway.listen(sessionRequest(req, route, sender), open));
  if (failure === undefined) connection?.flush();
  else if (connection === undefined) respondFailure(res, failure, { era: 'legacy' });
  else connection.end();
}

/** True if the stream was refused and the request answered. */
export function refuseStream(req: IncomingMessage, res: HttpAnswer, endpoint: Endpoint, shared: Shared): boolean {
  res.isLast = shared.closing();
  const failure = res.isLast
    ? new Failure('shutting_down')
    : checkStream(readAccept(req.headers.accept), endpoint.profile);
  if (failure !== undefined) respondFailure(res, failure, { era: 'legacy' });
  return failure !== undefined;
}

async function end(
  req: IncomingMessage,
  res: HttpAnswer,
  route: McpRoute,
  sender: Authenticated,
  shared: Shared,
): Promise<void> {
  const failure = await orFault(shared, () => shared.gateway.end(sessionRequest(req, route, sender)));
  if (failure === undefined) respondEmpty(res, 204);
  else respondFailure(res, failure, { era: 'legacy' });
}

/** The gateway's result. An exception becomes a failure. */
export async function orFault<T>(shared: Shared, ask: () => Promise<T | Failure>): Promise<T | Failure> {
  try {
    return await ask();
  } catch (error) {
    return faultFailure(error, shared.notes);
  }
}
