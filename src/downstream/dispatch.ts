/**
 * The way of every request: its path, method, Origin and Host are checked, its sender is authenticated by the headers
 * alone, and the code of its route serves it. That code checks size, time and shape of a body.
 */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Authenticated } from '../exchange/arrival.ts';
import { discardRest } from './body.ts';
import { state, type TrackedConnection, type TrackedSocket } from './connections.ts';
import { preflightHeaders } from './cors.ts';
import { faultFailure } from './events.ts';
import { type Readiness, respondReadiness } from './health.ts';
import type { Ingress } from './ingress.ts';
import { type Pages, servePages } from './mounted-paths.ts';
import { isLoopbackBind, malformedHost, targetOf } from './origin.ts';
import { servePost } from './post.ts';
import { credentialsOf, refuseSender } from './refused-body.ts';
import { requestIdOf } from './request-headers.ts';
import {
  type GoneWatcher,
  type HttpAnswer,
  type OpenBody,
  respondEmpty,
  respondFailure,
  respondState,
} from './respond.ts';
import {
  documentRoute,
  type EndpointRoute,
  hiddenRoute,
  MODERN_ALLOW,
  type Route,
  routeBeforeSlash,
  serverEndpointOf,
} from './routes.ts';
import { serveRpc } from './rpc.ts';
import type { Shared } from './shared.ts';
import { type OpenConnections, serveMessage, serveSse } from './sse.ts';
import { serveDelete, serveStream } from './streamable.ts';

export interface DispatchOptions {
  readonly listen: { readonly host: string };
  readonly ready: () => Readiness;
  /** Whether requests without an `X-Request-Id` get one. */
  readonly makesRequestIds?: boolean;
  /** Pages of other folders, at paths where there is no endpoint. */
  readonly pages?: readonly Pages[];
}

/** In seconds: connections open and close all the time. */
const RETRY = { 'Retry-After': '1' };

export class Dispatcher implements GoneWatcher {
  readonly #options: DispatchOptions;
  readonly #shared: Shared;
  readonly #connections: OpenConnections = new Map();
  /** Responses that are still due, on all connections. */
  #due = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: DispatchOptions, shared: Shared) {
    this.#options = options;
    this.#shared = shared;
  }

  /** Entry point of every request. No exception may escape from here. */
  readonly enter = (req: IncomingMessage, res: HttpAnswer): void => {
    const { [state]: connection } = req.socket as TrackedSocket<typeof req.socket>;
    this.#due += 1;
    connection.due += 1;
    connection.latest = res;
    res.shared = this.#shared;
    res.owner = this;
    res.requestId = requestIdOf(req, this.#options.makesRequestIds === true);
    // Queued behind an earlier response (pipelining), a response gets no `close` event when the connection ends.
    if (res.socket === null) req.socket.once('close', () => res.leave());
    try {
      this.#dispatch(req, res, connection);
    } catch (error) {
      this.#fault(res, error);
    }
    if (res.reading === undefined) discardRest(res);
  };

  gone({ req }: HttpAnswer): void {
    (req.socket as TrackedSocket<typeof req.socket>)[state].due -= 1;
    this.#due -= 1;
    if (this.#due === 0) this.#onIdle?.();
  }

  /** Resolves when no response is due any more, or after `withinMs`. */
  idle(withinMs: number): Promise<void> {
    if (this.#due === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #dispatch(req: IncomingMessage, res: HttpAnswer, connection: TrackedConnection): void {
    if (connection.due > this.#shared.limits.requestsPerConnection) {
      const message = 'Too many unanswered requests on one connection (limits.requestsPerConnection)';
      respondFailure(res, new Failure('too_many_requests', { message }));
      return;
    }
    const { notes, currentGeneration } = this.#shared;
    const ingress = currentGeneration.now;
    const { origins } = ingress;
    const { origin, host: hostHeader } = req.headers;
    const foreign = origin === undefined ? undefined : origins.checkOrigin(origin);
    if (foreign === undefined) res.origin = origin;
    else notes.originRefused(origin ?? '', foreign, ingress.addresses.of(req));
    const { path, host } = targetOf(req.url ?? '', hostHeader);
    const malformed = malformedHost(req, host);
    if (malformed !== undefined) {
      respondFailure(res, new Failure('invalid_request', { message: malformed }));
      return;
    }
    const route = ingress.routes.get(path) ?? otherRoute(ingress, path, host);
    // Load balancers and container runtimes use an address that cannot be listed. What they learn is not private.
    const isProbed = route?.kind === 'health' || route?.kind === 'ready';
    if (connection.isBeyondLimit && !isProbed) {
      res.isLast = true;
      notes.connectionRefused();
      respondFailure(res, new Failure('too_many_connections', { http: { headers: RETRY } }));
    } else if (route === undefined) {
      const pages = this.#options.pages?.find((some) => some.owns(path));
      if (pages === undefined) respondFailure(res, new Failure('path_not_found'));
      else servePages(res, path, pages, foreign, origins.checkHost(host, notes));
    } else if (!route.methods.has(req.method)) {
      const isLook = req.method === 'HEAD' && 'endpoint' in route && foreign === undefined;
      if (isLook && origins.checkHost(host, notes) === undefined) this.#authenticate(req, res, route);
      else notAllowed(res, route.allow);
    } else {
      const refusal = foreign ?? (isProbed ? undefined : origins.checkHost(host, notes));
      if (refusal !== undefined) respondFailure(res, refusal);
      else if (req.method === 'OPTIONS') respondPreflight(res, route, ingress);
      else if ('endpoint' in route) this.#authenticate(req, res, route);
      else this.#serveOwn(res, route);
    }
  }

  #serveOwn(res: HttpAnswer, route: Exclude<Route, EndpointRoute>): void {
    // Liveness: the process runs. Readiness is at `/readyz`.
    if (route.kind === 'health') respondState(res, 200, { status: 'ok' });
    else if (route.kind === 'document') respondState(res, 200, route.document);
    else void this.#serveReadiness(res);
  }

  /** An unauthenticated sender learns whether the gateway is ready, but no names. */
  async #serveReadiness(res: HttpAnswer): Promise<void> {
    const { listen, ready } = this.#options;
    const { authenticator } = this.#shared.currentGeneration.now;
    try {
      const mayKnow = (await authenticator.mayKnow(res.req)) ?? isLoopbackBind(listen.host);
      respondReadiness(res, ready(), mayKnow);
    } catch (error) {
      this.#fault(res, error);
    }
  }

  #authenticate(req: IncomingMessage, res: HttpAnswer, route: EndpointRoute): void {
    // The modern revision has neither GET nor DELETE. A modern client gets 405 even where legacy clients may use them.
    const isSession = req.method === 'GET' || req.method === 'DELETE';
    if (isSession && route.kind === 'mcp' && res.era === 'modern') {
      notAllowed(res, MODERN_ALLOW);
      return;
    }
    const credentials = route.kind === 'messages' ? credentialsOf(req, route) : req;
    const found = this.#shared.gateway.authenticate(route.endpoint, credentials);
    if (found instanceof Promise) void this.#awaitSender(res, route, found);
    else this.#serve(res, route, found);
  }

  /** The issuer must be contacted. Until it answers, the request body waits in the socket. */
  async #awaitSender(res: HttpAnswer, route: EndpointRoute, asking: Promise<Authenticated | Failure>): Promise<void> {
    const waiting: OpenBody = {
      fail: (failure) => {
        res.isLast = true;
        res.reading = undefined;
        respondFailure(res, failure);
      },
    };
    res.reading = waiting;
    const found = await asking;
    if (res.reading !== waiting || res.gone) return;
    res.reading = undefined;
    this.#serve(res, route, found);
    if (res.reading === undefined) discardRest(res);
  }

  #serve(res: HttpAnswer, route: EndpointRoute, sender: Authenticated | Failure): void {
    const { kind, endpoint } = route;
    const { method } = res.req;
    if (sender instanceof Failure) refuseSender(res, route, sender);
    // HEAD is never served, but a sender without valid credentials gets the authentication failure, not a 405.
    else if (method === 'HEAD') notAllowed(res, route.allow);
    // Both processes have authenticated the sender, each by its own config. They must agree.
    else if (res.forwarded !== undefined && res.forwarded.principal !== sender.principal.key)
      respondFailure(res, new Failure('session_not_found'));
    else if (kind === 'mcp' && method === 'POST') servePost(res, endpoint, sender);
    else if (kind === 'messages') serveMessage(res, endpoint, sender, this.#connections);
    else if (!this.#isForwarded(res, route, sender)) this.#serveHere(res, route, sender);
  }

  #serveHere(res: HttpAnswer, route: EndpointRoute, sender: Authenticated): void {
    const { kind, endpoint } = route;
    const { method } = res.req;
    if (kind === 'rpc') serveRpc(res, endpoint, sender);
    else if (kind === 'sse') void serveSse(res, endpoint, sender, route.messages, this.#connections);
    else if (method === 'GET') void serveStream(res, endpoint, sender);
    else void serveDelete(res, endpoint, sender);
  }

  /** Whether another process serves the request. A message is read first: its body may decide, and goes with it. */
  #isForwarded(res: HttpAnswer, route: EndpointRoute, sender: Authenticated): boolean {
    const { forwarding } = this.#shared;
    const isAsked = forwarding !== undefined && route.kind !== 'rpc';
    if (!isAsked) return false;
    return forwarding.take({ res, endpoint: route.endpoint, sender, serve: () => this.#serveHere(res, route, sender) });
  }

  #fault(res: HttpAnswer, error: unknown): void {
    respondFailure(res, faultFailure(error, this.#shared.notes));
  }
}

function notAllowed(res: HttpAnswer, allow: string): void {
  respondFailure(res, new Failure('method_not_allowed'), { headers: { Allow: allow } });
}

/** Metadata documents for clients that look for an authorization server; servers that may not exist. */
function otherRoute({ authenticator, routes }: Ingress, path: string, host: string | undefined): Route | undefined {
  const route = routeBeforeSlash(routes, path);
  if (route !== undefined) return route;
  const document = authenticator.document(path, host);
  if (document !== undefined) return documentRoute(document);
  // Only an authenticated sender may learn whether such a server exists.
  const endpointPath = serverEndpointOf(path);
  if (endpointPath === undefined || !authenticator.hides(endpointPath)) return undefined;
  return hiddenRoute(routes, path, endpointPath);
}

function respondPreflight(res: HttpAnswer, route: Route, { authenticator }: Ingress): void {
  const keyHeader = 'endpoint' in route ? authenticator.keyHeader(route.endpoint.path) : undefined;
  respondEmpty(res, 204, preflightHeaders(res.req, route.allow, keyHeader));
}
