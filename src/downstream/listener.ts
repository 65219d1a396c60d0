/** The HTTP server: binds the port, watches connections, starts and closes. Requests go to dispatch.ts. */
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Failure } from '../errors/failure.ts';
import { BrokenConnections } from './broken.ts';
import { ConnectionCounter, RESERVED_CONNECTIONS, state, type TrackedSocket } from './connections.ts';
import { Dispatcher, type DispatchOptions } from './dispatch.ts';
import type { Enter } from './forwarding.ts';
import { HttpAnswer } from './respond.ts';
import { Shared, type SharedOptions } from './shared.ts';
import { listenOnSocket, type UnixSocket } from './unix-socket.ts';

export interface HttpOptions extends SharedOptions, DispatchOptions {
  readonly listen: ListenAddress;
  /** Absent: HTTP without TLS. */
  readonly tls?: TlsServing | undefined;
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** In place of them. */
  readonly socket?: UnixSocket;
}

/** Makes a server whose connections are encrypted. Each of its secure sockets has the state of its connection. */
export interface TlsServing {
  createServer(options: AnsweringOptions & { readonly handshakeTimeout: number }): AnsweringServer;
}

/** A way in beside the main one: what its server does with requests before they are served. */
export interface SideEntrance {
  readonly listen: ListenAddress;
  handle(ports: EntrancePorts): EntranceHandlers;
}

export interface EntrancePorts extends Pick<Dispatcher, 'enter'> {
  readonly shared: Shared;
  readonly broken: BrokenConnections;
  /** Serves a connection that has come in another one. */
  adopt(socket: Duplex): void;
}

export interface EntranceHandlers extends Pick<Dispatcher, 'enter'> {
  connect(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ends what is no HTTP connection any more. */
  close(): void;
}

export interface HttpServer {
  /** The URL it listens at, without a path. */
  readonly url: string;
  /** Open event streams. */
  readonly streams: number;
  /** Opens another way in, whose requests are served like those here. Rejects where its address cannot be bound. */
  open(entrance: SideEntrance): Promise<string>;
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
  const server = makeServer(shared, dispatcher, broken, options.tls);
  const url = await bind(server, options.listen, options.tls && 'https');
  const enter: Enter = (req, res, from) => {
    res.forwarded = from;
    dispatcher.enter(req, res);
  };
  const door = await options.forwarding?.open(enter, (error) => shared.notes.fault(error));
  // A connection that cannot be accepted affects its client alone.
  server.on('error', (error) => shared.notes.fault(error));
  const entrances: { close(): void }[] = [];
  return {
    url,
    get streams() {
      return shared.keepAlive.size;
    },
    open: async (entrance) => {
      const opened = await openEntrance(entrance, { shared, enter: dispatcher.enter, broken });
      entrances.push(opened);
      return opened.url;
    },
    // The port stays open while responses are being sent: a new request gets `shutting_down` instead of a refused
    // connection.
    close: async ({ drainMs }) => {
      await dispatcher.idle(drainMs);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      for (const entrance of entrances) entrance.close();
      broken.close();
      await door?.close();
      options.forwarding?.close();
      await closed;
      shared.stopTimers();
    },
  };
}

export type AnsweringServer = Server<typeof IncomingMessage, typeof HttpAnswer>;
export type AnsweringOptions = ServerOptions<typeof IncomingMessage, typeof HttpAnswer>;

/** `connect`: takes CONNECT, which is refused otherwise. */
function makeServer(
  shared: Shared,
  { enter, connect }: Pick<Dispatcher, 'enter'> & Partial<EntranceHandlers>,
  broken: BrokenConnections,
  tls?: TlsServing,
): AnsweringServer {
  const { limits, notes } = shared;
  const options: AnsweringOptions = {
    ServerResponse: HttpAnswer,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / HEADER_CHECKS),
    // Bodies are timed by `IncomingBody`, so that a timeout gets our own response.
    requestTimeout: 0,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // Checked by `malformedHost`, for the same reason.
    requireHostHeader: false,
  };
  const server = tls?.createServer({ ...options, handshakeTimeout: limits.headersMs }) ?? createServer(options);
  // All of them, within `headerBytes`: Node 20 drops those beyond a thousand, and our checks would not see them.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connectionsTotal + RESERVED_CONNECTIONS;
  const connections = new ConnectionCounter(shared);
  server.on('connection', (socket) => {
    // One that has come in another one is counted already.
    if (!(state in socket)) connections.opened(socket);
  });
  server.on('drop', () => notes.connectionRefused());
  server.on('request', enter);
  // RFC 9110, 10.1.1: an expectation that we do not know may be ignored.
  server.on('checkExpectation', enter);
  server.on('checkContinue', (req, res) => {
    res.awaitsContinue = true;
    enter(req, res);
  });
  server.on('clientError', (error, socket) => {
    const { [state]: connection } = socket as Partial<TrackedSocket> & Duplex;
    // Without it, a TLS handshake has failed: there is nobody to answer.
    if (connection === undefined) socket.destroy();
    else broken.break(error, socket, connection.latest);
  });
  const refuseConnect = (_req: IncomingMessage, socket: Duplex) =>
    broken.dismiss(socket, new Failure('method_not_allowed'), { Allow: 'GET, POST, DELETE, OPTIONS' });
  server.on('connect', connect ?? refuseConnect);
  return server;
}

async function openEntrance(
  { listen, handle }: SideEntrance,
  ports: Omit<EntrancePorts, 'adopt'>,
): Promise<{ readonly url: string; close(): void }> {
  const { shared, broken } = ports;
  const handlers = handle({ ...ports, adopt: (socket) => server.emit('connection', socket) });
  const server = makeServer(shared, handlers, broken);
  const url = await bind(server, listen);
  server.on('error', (error) => shared.notes.fault(error));
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
      handlers.close();
    },
  };
}

function bind(server: AnsweringServer, { host, port, socket }: ListenAddress, scheme = 'http'): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const bound = (url: string) => {
      server.off('error', reject);
      resolve(url);
    };
    // A client over a Unix socket has to name some host.
    if (socket !== undefined) listenOnSocket(server, socket, () => bound('http://localhost'));
    else
      server.listen(port, host.replace(/^\[|\]$/g, ''), () => {
        const { address, family, port: own } = server.address() as AddressInfo;
        bound(`${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${own}`);
      });
  });
}
