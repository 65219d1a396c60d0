/**
 * Authenticates a request to an endpoint by its headers, then passes it to the code that serves it. A body from a
 * sender without valid credentials costs next to nothing: it is read up to a small limit and not kept.
 */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Authenticated } from '../exchange/arrival.ts';
import { askedOf, rpcAsked } from '../exchange/asked.ts';
import type { AuthContext, Credentials } from '../identity/principal.ts';
import { eraOf } from '../pipeline/admit.ts';
import { readRpc } from '../wire/rpc.ts';
import { type ReadLimits, readMessage } from '../wire/scan.ts';
import type { HttpAnswer, OpenBody } from './answer.ts';
import { type BodySink, discardRest, readBody } from './body.ts';
import { respondFailure } from './respond.ts';
import type { Route } from './routes.ts';
import { refuseRpc, serveRpc } from './rpc.ts';
import type { HttpSse } from './sse.ts';
import { allowedFor, depthLimit, notAllowed, type Shared, serveMcp } from './streamable.ts';

export type EndpointRoute = Extract<Route, { endpoint: unknown }>;

/** What serving a request to an endpoint needs. */
export interface Serving {
  readonly shared: Shared;
  readonly sse: HttpSse;
}

export function serveEndpoint(req: IncomingMessage, res: HttpAnswer, route: EndpointRoute, serving: Serving): void {
  // The modern revision has neither GET nor DELETE. A modern client gets 405 even where legacy clients may use them.
  const allow = allowedFor(req, res, route);
  if (allow !== undefined) {
    notAllowed(res, allow);
    return;
  }
  const credentials = credentialsOf(req, route);
  const found = serving.shared.gateway.authenticate(route.endpoint, credentials);
  if (found instanceof Promise) void pass(req, res, route, serving, found);
  else admit(req, res, route, serving, found);
}

/** The issuer must be contacted. Until it answers, the request body waits in the socket. */
async function pass(
  req: IncomingMessage,
  res: HttpAnswer,
  route: EndpointRoute,
  serving: Serving,
  asking: Promise<Authenticated | Failure>,
): Promise<void> {
  const waiting: OpenBody = {
    fail: (failure) => {
      res.isLast = true;
      res.reading = undefined;
      respondFailure(res, failure, { era: res.era });
    },
  };
  res.reading = waiting;
  const found = await asking;
  if (res.reading !== waiting || res.gone) return;
  res.reading = undefined;
  admit(req, res, route, serving, found);
  discardRest(req, res, serving.shared.body);
}

function admit(
  req: IncomingMessage,
  res: HttpAnswer,
  route: EndpointRoute,
  { shared, sse }: Serving,
  sender: Authenticated | Failure,
): void {
  if (sender instanceof Failure) refuse(req, res, route, shared, sender);
  // HEAD is never served, but a sender without valid credentials gets the authentication failure, not a 405.
  else if (req.method === 'HEAD') notAllowed(res, route.allow);
  else if (route.kind === 'mcp') serveMcp(req, res, route, sender, shared);
  else if (route.kind === 'rpc') serveRpc(req, res, route, sender, shared);
  else if (route.kind === 'sse') void sse.open(req, res, route, sender);
  else sse.receive(req, res, route, sender);
}

/** An HTTP+SSE client knows only the stream's address: its token and the challenge it gets are for that address. */
function credentialsOf(req: IncomingMessage, route: EndpointRoute): Exclude<Credentials, 'local'> {
  if (route.kind !== 'messages') return req;
  const { url = '', rawHeaders } = req;
  const query = url.indexOf('?');
  return { rawHeaders, url: query === -1 ? route.stream : `${route.stream}${url.slice(query)}` };
}

function refuse(req: IncomingMessage, res: HttpAnswer, route: EndpointRoute, shared: Shared, failure: Failure): void {
  const refused = new RefusedBody(req, res, route, shared, failure);
  if (req.method === 'POST') readBody(req, res, shared.refusedBody, refused);
  else refused.tell({ kind: 'other' });
}

/** Reads a refused POST up to `refusedBodyBytes`, only for the id that the response must echo. */
class RefusedBody implements BodySink {
  readonly #req: IncomingMessage;
  readonly #res: HttpAnswer;
  readonly #route: EndpointRoute;
  readonly #shared: Shared;
  readonly #failure: Failure;

  constructor(req: IncomingMessage, res: HttpAnswer, route: EndpointRoute, shared: Shared, failure: Failure) {
    this.#req = req;
    this.#res = res;
    this.#route = route;
    this.#shared = shared;
    this.#failure = failure;
  }

  body(bytes: Uint8Array): void {
    try {
      if (this.#route.kind === 'rpc') this.#rpc(bytes);
      else this.#mcp(bytes);
    } catch {
      // A refused sender is not told what is wrong with the body.
      this.unreadable();
    }
  }

  unreadable(): void {
    this.tell({ kind: 'unreadable' });
  }

  tell(asked: AuthContext, id?: string, era = this.#res.era): void {
    const { kind, endpoint } = this.#route;
    const told = this.#shared.gateway.refusal(endpoint, credentialsOf(this.#req, this.#route), this.#failure, asked);
    if (kind === 'rpc') refuseRpc(this.#res, told, id);
    else respondFailure(this.#res, told, { era: kind === 'mcp' ? era : 'legacy', id });
  }

  #limits(): ReadLimits {
    return { ...depthLimit(this.#shared, this.#route.endpoint), isGlance: true };
  }

  #mcp(bytes: Uint8Array): void {
    const message = readMessage(bytes, this.#limits());
    const version = this.#req.headers['mcp-protocol-version'];
    const era = eraOf(message, typeof version === 'string' ? version : undefined);
    this.tell(askedOf(message), message.kind === 'request' ? message.id.raw : undefined, era);
  }

  #rpc(bytes: Uint8Array): void {
    const message = readRpc(bytes, this.#limits());
    this.tell(rpcAsked(message), message.kind === 'request' ? message.id : undefined);
  }
}
