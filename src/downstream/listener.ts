/** The HTTP server: binds the port, watches connections, starts and closes. Requests go to dispatch.ts. */
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { Failure } from '../errors/failure.ts';
import { BrokenConnections } from './broken.ts';
import { ConnectionCounter, RESERVED_CONNECTIONS, state, type TrackedSocket } from './connections.ts';
import { Dispatcher, type DispatchOptions } from './dispatch.ts';
import { type Forwarding, REFUSED_HEADER } from './forwarding.ts';
import { HttpAnswer, respondFailure } from './respond.ts';
import { Shared, type SharedOptions } from './shared.ts';

export interface HttpOptions extends SharedOptions, DispatchOptions {
  readonly listen: { readonly host: string; readonly port: number };
}

export interface HttpServer {
  /** The URL it listens at, without a path. */
  readonly url: string;
  /** Open event streams. */
  readonly streams: number;
  /** Takes no new requests, waits up to `drainMs` for open ones, and closes what is left. */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/**
 * Longer than the 60 s after which common load balancers drop an idle connection, so that they never use a closed one.
 */
const IDLE_CONNECTION_MS = 65_000;
/** How often within `headersMs` Node checks for header timeouts. */
const HEADER_CHECKS = 4;

export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const shared = new Shared(options);
  const dispatcher = new Dispatcher(options, shared);
  const broken = new BrokenConnections();
  const server = makeServer(shared, dispatcher, broken);
  const url = await bind(server, options.listen);
  const internal = options.forwarding && (await listenForOthers(options.forwarding, shared, dispatcher, broken));
  // A connection that cannot be accepted affects its client alone.
  server.on('error', (error) => shared.notes.fault(error));
  return {
    url,
    get streams() {
      return shared.keepAlive.size;
    },
    // The port stays open while responses are being sent: a new request gets `shutting_down` instead of a refused
    // connection.
    close: async ({ drainMs }) => {
      await dispatcher.idle(drainMs);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      broken.close();
      internal?.close();
      internal?.closeAllConnections();
      options.forwarding?.close();
      await closed;
      shared.stopTimers();
    },
  };
}

type AnsweringServer = Server<typeof IncomingMessage, typeof HttpAnswer>;

type CreateServer = (options: ServerOptions<typeof IncomingMessage, typeof HttpAnswer>) => AnsweringServer;

/** The same server on encrypted connections. */
async function tlsServer(tls: TlsOptions): Promise<CreateServer> {
  const https = await import('node:https');
  // It has everything of a plain one.
  return (options) => https.createServer({ ...options, ...tls }) as unknown as AnsweringServer;
}

function makeServer(
  shared: Shared,
  { enter }: Pick<Dispatcher, 'enter'>,
  broken: BrokenConnections,
  { create = createServer, isInternal = false }: { create?: CreateServer; isInternal?: boolean } = {},
): AnsweringServer {
  const { limits, notes } = shared;
  const server = create({
    ServerResponse: HttpAnswer,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / HEADER_CHECKS),
    // Bodies are timed by `IncomingBody`, so that a timeout gets our own response.
    requestTimeout: 0,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // Checked by `malformedHost`, for the same reason.
    requireHostHeader: false,
  });
  // All of them, within `headerBytes`: Node 20 drops those beyond a thousand, and our checks would not see them.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connectionsTotal + RESERVED_CONNECTIONS;
  const connections = new ConnectionCounter(shared, isInternal);
  const opened = (socket: Socket) => connections.opened(socket);
  server.on(create === createServer ? 'connection' : 'secureConnection', opened);
  server.on('drop', () => notes.connectionRefused());
  server.on('request', enter);
  // RFC 9110, 10.1.1: an expectation that we do not know may be ignored.
  server.on('checkExpectation', enter);
  server.on('checkContinue', (req, res) => {
    res.awaitsContinue = true;
    enter(req, res);
  });
  server.on('clientError', (error, socket) => broken.break(error, socket, (socket as TrackedSocket)[state].latest));
  server.on('connect', (_req, socket) => {
    broken.dismiss(socket, new Failure('method_not_allowed'), { Allow: 'GET, POST, DELETE, OPTIONS' });
  });
  return server;
}

/** Takes what other processes of this gateway hand over. */
async function listenForOthers(
  forwarding: Forwarding,
  shared: Shared,
  dispatcher: Dispatcher,
  broken: BrokenConnections,
): Promise<AnsweringServer> {
  const enter = (req: IncomingMessage, res: HttpAnswer) => {
    const from = forwarding.accept(req);
    if (from === undefined) {
      res.shared = shared;
      res.isLast = true;
      respondFailure(res, new Failure('not_forwarded', { http: { headers: { [REFUSED_HEADER]: 'true' } } }));
      return;
    }
    res.forwarded = from;
    Object.assign(req, { forwardedFor: from.address });
    dispatcher.enter(req, res);
  };
  const { door } = forwarding;
  const create = 'tls' in door ? await tlsServer(door.tls) : createServer;
  const server = makeServer(shared, { enter }, broken, { create, isInternal: true });
  if ('tls' in door)
    server.removeAllListeners('tlsClientError').on('tlsClientError', (_error, socket) => socket.destroy());
  // Left by a process that was killed.
  if ('path' in door) rmSync(door.path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // `exclusive`: not shared with the other workers.
    server.listen({ ...door, exclusive: true }, resolve);
  });
  if ('host' in door) forwarding.opened?.({ host: door.host, port: (server.address() as AddressInfo).port });
  server.on('error', (error) => shared.notes.fault(error));
  return server;
}

function bind(server: AnsweringServer, { host, port }: HttpOptions['listen']): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host.replace(/^\[|\]$/g, ''), () => {
      server.off('error', reject);
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}
