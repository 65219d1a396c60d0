/** The HTTP server: the checks before a request is served, and the routing from its path to the code that serves it. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Failure } from '../errors/failure.ts';
import type { Endpoint, Gateway } from '../exchange/arrival.ts';
import type { Credentials } from '../identity/principal.ts';
import { type Serving, serveEndpoint } from './admission.ts';
import { HttpAnswer } from './answer.ts';
import { discardRest } from './body.ts';
import { BodyBudget, type BodyBudgetLimits } from './body-budget.ts';
import { BrokenConnections } from './broken.ts';
import { ClientAddresses } from './callers.ts';
import { ConnectionCounter, type ConnectionLimits, isBeyondLimit, RESERVED_CONNECTIONS } from './connections.ts';
import { preflightHeaders } from './cors.ts';
import { SlowReaders } from './delivery.ts';
import type { IngressNotes } from './events.ts';
import { faultFailure } from './fault.ts';
import { type Readiness, respondHealth, respondReadiness } from './health.ts';
import { type Pages, servePages } from './mounted-paths.ts';
import { isLoopbackBind, namesHostTwice, type OriginRules, Origins } from './origin.ts';
import type { OutboxLimits } from './outbox.ts';
import { respondEmpty, respondFailure, respondState } from './respond.ts';
import {
  documentRoute,
  hiddenRoute,
  type RequestTarget,
  type Route,
  type Routes,
  routeAt,
  routesOf,
  serverEndpointOf,
  targetOf,
} from './routes.ts';
import { HttpSse } from './sse.ts';
import { notAllowed, type Shared } from './streamable.ts';
import { Sweep, type SweepClock } from './sweep.ts';
import { FairTurns } from './turns.ts';

export interface HttpOptions {
  readonly listen: ListenRules;
  readonly endpoints: readonly Endpoint[];
  readonly gateway: Gateway;
  readonly authenticator: AuthMetadata;
  readonly limits: HttpLimits;
  readonly ready: () => Readiness;
  readonly notes: IngressNotes;
  readonly clock: SweepClock;
  /** Pages of other folders, at paths where there is no endpoint. */
  readonly pages?: readonly Pages[];
}

export interface ListenRules extends OriginRules {
  readonly port: number;
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
}

/** The parts of authentication that do not depend on what a request asks for. */
export interface AuthMetadata {
  /** A public document, by its path. */
  document(path: string, host: string | undefined): object | undefined;
  keyHeader(endpointPath: string): string | undefined;
  /** True if there is no such endpoint, and unauthenticated senders must not learn that. */
  hides(endpointPath: string): boolean;
  /** Whether the sender may see the backends' names. Undefined where nothing is authenticated. */
  mayKnow(credentials: Credentials): Promise<boolean | undefined>;
}

export interface HttpLimits extends OutboxLimits, BodyBudgetLimits, ConnectionLimits {
  readonly bodyBytes: number;
  readonly headerBytes: number;
  readonly jsonDepth: number;
  readonly headersMs: number;
  readonly bodyMs: number;
  readonly refusedBodyBytes: number;
  readonly refusedBodyMs: number;
  readonly sseAfterMs: number;
  readonly keepAliveMs: number;
  readonly readerStallMs: number;
  readonly slowReaderBytes: number;
  /** Requests on one connection whose responses are still due. */
  readonly requestsPerConnection: number;
}

export interface HttpServer {
  /** The URL it listens at, without a path. */
  readonly url: string;
  /** Replaces endpoints, origins and trusted proxies. Host and port stay. */
  renew(served: Pick<HttpOptions, 'endpoints' | 'listen'>): void;
  /** Takes no new requests, waits up to `drainMs` for open ones, and closes what is left. */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/**
 * How much of a refused body is discarded before the connection is closed, as a multiple of the limit. A client that
 * sends first and reads afterwards gets its response, and keeps its connection, if it was not absurdly over the limit.
 */
const DISCARDED_LIMITS = 4;
/**
 * Longer than the 60 s after which common load balancers drop an idle connection, so that they never use a closed one.
 */
const IDLE_CONNECTION_MS = 65_000;
/** In seconds: connections open and close all the time. */
const RETRY = { 'Retry-After': '1' };
/** How often within `headersMs` Node checks for header timeouts. */
const HEADER_CHECKS = 4;

export function startHttp(options: HttpOptions): Promise<HttpServer> {
  const listener = new Listener(options);
  return listener.start();
}

/** The most recent response on a connection. */
const latest = Symbol('latest answer');
/** How many responses are still due on a connection. */
const due = Symbol('answers due');
type TrackedSocket = Duplex & { [latest]?: HttpAnswer; [due]?: number };

class Listener {
  readonly #options: HttpOptions;
  #routes: Routes;
  #origins: Origins;
  #callers: ClientAddresses;
  readonly #connections: ConnectionCounter;
  readonly #shared: Shared;
  readonly #serving: Serving;
  readonly #server: Server<typeof IncomingMessage, typeof HttpAnswer>;
  readonly #broken = new BrokenConnections();
  readonly #sweeps: readonly Sweep[];
  readonly #open = new Set<HttpAnswer>();
  #closing = false;
  #onIdle: (() => void) | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    const { limits, clock, gateway, notes } = options;
    this.#routes = routesOf(options.endpoints);
    this.#origins = new Origins(options.listen);
    const bodies = new Sweep(limits.bodyMs, clock);
    const keepAlive = new Sweep(limits.keepAliveMs, clock);
    const undecided = limits.sseAfterMs === 0 ? undefined : new Sweep(limits.sseAfterMs, clock);
    const refused = new Sweep(limits.refusedBodyMs, clock);
    this.#callers = new ClientAddresses(options.listen.trustedProxies);
    this.#connections = new ConnectionCounter(limits, this.#callers);
    const memory = { budget: new BodyBudget(limits), addressOf: (req: IncomingMessage) => this.#callers.of(req) };
    const rest = { bytes: limits.bodyBytes * DISCARDED_LIMITS, sweep: bodies };
    const stalled = new Sweep(limits.readerStallMs, clock);
    this.#sweeps = [bodies, refused, stalled, keepAlive, ...(undecided === undefined ? [] : [undecided])];
    this.#shared = {
      gateway,
      notes,
      limits,
      keepAlive,
      deliveries: { stalled, readers: new SlowReaders(limits.slowReaderBytes), notes },
      undecided,
      body: { bodyBytes: limits.bodyBytes, sweep: bodies, rest, memory },
      refusedBody: { bodyBytes: limits.refusedBodyBytes, sweep: refused, rest, memory },
      depth: { depth: limits.jsonDepth },
      turns: new FairTurns(),
      closing: () => this.#closing || gateway.draining,
    };
    this.#serving = { shared: this.#shared, sse: new HttpSse(this.#shared) };
    this.#server = this.#makeServer(limits);
  }

  #makeServer(limits: HttpLimits): Server<typeof IncomingMessage, typeof HttpAnswer> {
    const server = createServer({
      ServerResponse: HttpAnswer,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: Math.ceil(limits.headersMs / HEADER_CHECKS),
      // Bodies are timed by `BodyReader`, so that a timeout gets our own response.
      requestTimeout: 0,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      // Checked by `malformedHost`, for the same reason.
      requireHostHeader: false,
    });
    server.maxConnections = limits.connectionsTotal + RESERVED_CONNECTIONS;
    server.on('connection', (socket) => this.#connections.opened(socket));
    server.on('drop', () => this.#shared.notes.connectionRefused());
    const onRequest = (req: IncomingMessage, res: HttpAnswer): void => this.#enter(req, res);
    server.on('request', onRequest);
    // RFC 9110, 10.1.1: an expectation that we do not know may be ignored.
    server.on('checkExpectation', onRequest);
    server.on('checkContinue', (req, res) => {
      res.awaitsContinue = true;
      onRequest(req, res);
    });
    server.on('clientError', (error, socket: TrackedSocket) => this.#broken.break(error, socket, socket[latest]));
    server.on('connect', (_req, socket) => {
      this.#broken.dismiss(socket, new Failure('method_not_allowed'), { Allow: 'GET, POST, DELETE, OPTIONS' });
    });
    return server;
  }

  start(): Promise<HttpServer> {
    const { host, port } = this.#options.listen;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host.replace(/^\[|\]$/g, ''), () => {
        this.#server.off('error', reject);
        // A connection that cannot be accepted affects its client alone.
        this.#server.on('error', (error) => this.#shared.notes.fault(error));
        const { address, family, port: bound } = this.#server.address() as AddressInfo;
        const name = family === 'IPv6' ? `[${address}]` : address;
        resolve({
          url: `http://${name}:${bound}`,
          renew: (served) => this.#renew(served),
          close: ({ drainMs }) => this.#close(drainMs),
        });
      });
    });
  }

  #renew({ endpoints, listen }: Pick<HttpOptions, 'endpoints' | 'listen'>): void {
    this.#routes = routesOf(endpoints);
    this.#origins = new Origins(listen);
    this.#callers = new ClientAddresses(listen.trustedProxies);
    this.#connections.trust(this.#callers);
  }

  /** Entry point of every request. No exception may escape from here. */
  #enter(req: IncomingMessage, res: HttpAnswer): void {
    this.#open.add(res);
    res.deliveries = this.#shared.deliveries;
    const socket: TrackedSocket = req.socket;
    socket[due] = (socket[due] ?? 0) + 1;
    res.whenGone(() => this.#left(res, socket));
    socket[latest] = res;
    // Queued behind an earlier response (pipelining), a response gets no `close` event when the connection ends.
    if (res.socket === null) socket.once('close', () => res.leave());
    try {
      this.#pass(req, res);
    } catch (error) {
      respondFailure(res, faultFailure(error, this.#shared.notes), { era: res.era });
    }
    discardRest(req, res, this.#shared.body);
  }

  /** Checks path and method, Origin and Host; then serves. Code that reads the body checks its size, time and shape. */
  #pass(req: IncomingMessage, res: HttpAnswer): void {
    const { [due]: answersDue = 0 }: TrackedSocket = req.socket;
    if (answersDue > this.#options.limits.requestsPerConnection) {
      const message = 'Too many requests on one connection before their answers (requestsPerConnection)';
      respondFailure(res, new Failure('too_many_requests', { message }), { era: res.era });
      return;
    }
    const { origin } = req.headers;
    const foreign = this.#origins.checkOrigin(origin);
    if (foreign === undefined) res.origin = origin;
    else this.#shared.notes.originRefused(origin ?? '', foreign, this.#callers.of(req));
    const target = targetOf(req.url ?? '', req.headers.host);
    const malformed = malformedHost(req, target.host);
    if (malformed !== undefined) {
      respondFailure(res, malformed, { era: res.era });
      return;
    }
    const route = routeAt(this.#routes, target.path) ?? this.#documentAt(target) ?? this.#hiddenAt(target.path);
    if (isBeyondLimit(req.socket) && !isProbed(route)) {
      res.isLast = true;
      this.#shared.notes.connectionRefused();
      respondFailure(res, new Failure('too_many_connections', { http: { headers: RETRY } }), { era: res.era });
      return;
    }
    const pages = route === undefined ? this.#options.pages?.find((some) => some.owns(target.path)) : undefined;
    if (pages !== undefined) {
      const host = this.#checkHost(target.host);
      servePages(req, res, target.path, pages, { foreign, host, bodies: this.#shared.body.sweep });
      return;
    }
    if (route !== undefined && !route.methods.has(req.method)) {
      const isLook = req.method === 'HEAD' && 'endpoint' in route && foreign === undefined;
      if (isLook && this.#checkHost(target.host) === undefined) serveEndpoint(req, res, route, this.#serving);
      else notAllowed(res, route.allow);
      return;
    }
    const unknown = route === undefined ? new Failure('path_not_found') : undefined;
    const refusal = unknown ?? foreign ?? (isProbed(route) ? undefined : this.#checkHost(target.host));
    if (refusal !== undefined) respondFailure(res, refusal, { era: res.era });
    else if (route !== undefined) this.#serve(req, res, route);
  }

  /** Only an authenticated sender may learn whether such a server exists. */
  #hiddenAt(path: string): Route | undefined {
    const endpointPath = serverEndpointOf(path);
    if (endpointPath === undefined || !this.#options.authenticator.hides(endpointPath)) return undefined;
    return hiddenRoute(this.#routes, path, endpointPath);
  }

  /** The metadata documents for clients that look for an authorization server. */
  #documentAt({ path, host }: RequestTarget): Route | undefined {
    const document = this.#options.authenticator.document(path, host);
    return document && documentRoute(document);
  }

  #checkHost(host: string | undefined): Failure | undefined {
    const failure = this.#origins.checkHost(host);
    if (failure !== undefined) this.#shared.notes.hostRefused(host ?? '');
    return failure;
  }

  #serve(req: IncomingMessage, res: HttpAnswer, route: Route): void {
    if (req.method === 'OPTIONS') {
      const keyHeader = 'endpoint' in route ? this.#options.authenticator.keyHeader(route.endpoint.path) : undefined;
      respondEmpty(res, 204, preflightHeaders(req, route.allow, keyHeader));
      return;
    }
    if ('endpoint' in route) {
      serveEndpoint(req, res, route, this.#serving);
      return;
    }
    switch (route.kind) {
      case 'document':
        respondState(res, 200, route.document);
        break;
      case 'health':
        respondHealth(res);
        break;
      case 'ready':
        void this.#respondReadiness(req, res);
        break;
    }
  }

  /** An unauthenticated sender learns whether the gateway is ready, but no names. */
  async #respondReadiness(req: IncomingMessage, res: HttpAnswer): Promise<void> {
    const { authenticator, listen, ready } = this.#options;
    try {
      const mayKnow = (await authenticator.mayKnow(req)) ?? isLoopbackBind(listen.host);
      respondReadiness(res, ready(), this.#shared.closing(), mayKnow);
    } catch (error) {
      respondFailure(res, faultFailure(error, this.#shared.notes), { era: res.era });
    }
  }

  #left(res: HttpAnswer, socket: TrackedSocket): void {
    this.#open.delete(res);
    socket[due] = (socket[due] ?? 1) - 1;
    if (this.#open.size === 0) this.#onIdle?.();
  }

  /**
   * The port stays open while responses are being sent: a new request gets `shutting_down` instead of a refused
   * connection.
   */
  async #close(drainMs: number): Promise<void> {
    this.#closing = true;
    if (this.#open.size > 0) await this.#idleOr(drainMs);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    this.#broken.close();
    await closed;
    for (const sweep of this.#sweeps) sweep.close();
  }

  #idleOr(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, drainMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** RFC 9112, 3.2: HTTP/1.1 without a Host, or with two, is malformed, even if every name is allowed. */
function malformedHost(req: IncomingMessage, host: string | undefined): Failure | undefined {
  if (namesHostTwice(req.rawHeaders)) return new Failure('invalid_request', { message: 'Host came more than once' });
  if (host !== undefined || req.httpVersion !== '1.1') return undefined;
  return new Failure('invalid_request', { message: 'The Host header is required' });
}

/** Load balancers and container runtimes use an address that cannot be listed. What they learn is not private. */
function isProbed(route: Route | undefined): boolean {
  return route?.kind === 'health' || route?.kind === 'ready';
}
