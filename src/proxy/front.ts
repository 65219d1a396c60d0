/**
 * The proxy: takes absolute-form requests and CONNECT for the addresses of configured backends, and hands them on as
 * ordinary requests of the backends' endpoints. Everything else is refused, and no byte goes out.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { discardRest } from '../downstream/body.ts';
import { state, type TrackedSocket } from '../downstream/connections.ts';
import { faultFailure } from '../downstream/events.ts';
import type { EntranceHandlers, EntrancePorts } from '../downstream/listener.ts';
import { malformedHost } from '../downstream/origin.ts';
import { type HttpAnswer, type OpenBody, respondFailure, respondState } from '../downstream/respond.ts';
import { Failure } from '../errors/failure.ts';
import type { PresentedCredentials, Principal } from '../identity/principal.ts';
import type { Generation } from '../pipeline/generation.ts';
import { asProxyChallenge, backendAuthorization, gatewayAuthorization, presented } from './credentials.ts';
import { type DocumentRelay, isDocument } from './documents.ts';
import { type ProxyHost, proxyHostsOf } from './hosts.ts';
import type { Interceptor } from './intercept.ts';
import { becomeOwn } from './own-request.ts';
import { absoluteTarget, connectTarget, innerTarget, type WantedTarget } from './request-target.ts';
import { ESTABLISHED, join, openTunnel } from './tunnel.ts';

export interface ProxyPorts extends EntrancePorts {
  readonly currentGeneration: {
    readonly now: Pick<Generation, 'config' | 'authenticator' | 'authorizer' | 'addresses'>;
  };
  readonly interceptor: Interceptor;
  readonly documents: DocumentRelay;
  readonly connectMs: number;
}

/** What is known of a connection that was opened with CONNECT. */
interface OpenTunnel extends Pick<ProxyHost, 'authority' | 'isTls'> {
  /** Who opened it. Every request in it is from the same sender. */
  readonly authorization: string | undefined;
}

/** What has been found out about a request, for the record of its refusal. */
interface ProxyFacts {
  authority?: string;
  principal?: Principal | undefined;
}

type ProxyConnection = TrackedSocket<Socket>;

export class ProxyFront implements EntranceHandlers {
  readonly #ports: ProxyPorts;
  readonly #tunnels = new WeakMap<object, OpenTunnel>();
  /** Connections that no HTTP server watches: they pass unread, or their handshake is not done. */
  readonly #unwatched = new Set<Duplex>();
  #known: { readonly of: object; readonly hosts: ReadonlyMap<string, ProxyHost> } | undefined;

  constructor(ports: ProxyPorts) {
    this.#ports = ports;
  }

  readonly enter = (req: IncomingMessage, res: HttpAnswer): void => {
    const found: ProxyFacts = {};
    res.shared = this.#ports.shared;
    (req.socket as ProxyConnection)[state].latest = res;
    this.#serve(req, res, found).catch((error: unknown) => this.#refuse(res, error, found));
  };

  readonly connect = (req: IncomingMessage, duplex: Duplex, head: Buffer): void => {
    const found: ProxyFacts = {};
    const socket = duplex as ProxyConnection;
    socket.on('error', () => socket.destroy());
    // The answer to an earlier request would be written into the tunnel.
    if (socket[state].latest?.writableFinished === false) socket.destroy();
    else this.#open(req, socket, head, found).catch((error: unknown) => this.#dismiss(socket, error, found));
  };

  close(): void {
    for (const socket of this.#unwatched) socket.destroy();
  }

  /** Rejects with the Failure to answer with. */
  async #serve(req: IncomingMessage, res: HttpAnswer, found: ProxyFacts): Promise<void> {
    const tunnel = this.#tunnels.get(req.socket);
    const { authority, path } = targetOf(req, tunnel);
    found.authority = authority;
    const authorization = tunnel === undefined ? gatewayAuthorization(req.rawHeaders) : tunnel.authorization;
    const host = this.#hosts.get(authority);
    const target = host?.targets.get(path);
    const waiting: OpenBody = { fail: (failure) => this.#refuse(res, failure, found) };
    res.reading = waiting;
    const at = target === undefined ? host : [target.endpoint];
    found.principal = await this.#identify(at, presented(authorization, req));
    // The client has gone meanwhile, or its body is malformed.
    if (res.gone || res.reading !== waiting) return;
    res.reading = undefined;
    if (target !== undefined) {
      const { endpoint, passesCredential } = target;
      const keyHeader = this.#ports.currentGeneration.now.authenticator.keyHeader(endpoint);
      const forBackend = passesCredential ? (backendAuthorization(req.rawHeaders) ?? '') : undefined;
      becomeOwn(req, { path: endpoint, authorization, forBackend, keyHeader });
      this.#ports.enter(req, res);
    } else if (host === undefined) throw new Failure('proxy_host_not_listed');
    else await this.#serveDocument(req, res, host, path);
  }

  async #serveDocument(
    { method }: IncomingMessage,
    res: HttpAnswer,
    { documentsOf }: ProxyHost,
    path: string,
  ): Promise<void> {
    if (documentsOf === undefined || !isDocument(method, path)) throw new Failure('proxy_path_not_listed');
    const document = await this.#ports.documents.read(documentsOf, path);
    if (document === undefined) throw new Failure('path_not_found');
    respondState(res, 200, document);
  }

  /** Rejects with the Failure to answer with. */
  async #open(req: IncomingMessage, socket: ProxyConnection, head: Buffer, found: ProxyFacts): Promise<void> {
    if (socket[state].isBeyondLimit) throw new Failure('too_many_connections');
    if (this.#tunnels.has(socket)) throw new Failure('proxy_tunnel_nested');
    const authority = connectTargetOf(req);
    found.authority = authority;
    const authorization = gatewayAuthorization(req.rawHeaders);
    const host = this.#hosts.get(authority);
    found.principal = await this.#identify(host, presented(authorization, { socket }));
    if (socket.destroyed) return;
    if (host === undefined) throw new Failure('proxy_host_not_listed');
    if (host.isTunnel) await this.#passUnread(socket, host, head);
    else this.#intercept(socket, host, head, authorization);
  }

  /** The tunnel ends here, and what comes in it is HTTP. */
  #intercept(socket: ProxyConnection, host: ProxyHost, head: Buffer, authorization: string | undefined): void {
    const { authority, isTls, name } = host;
    const { interceptor, adopt } = this.#ports;
    const serve = (plain: Duplex) => {
      this.#tunnels.set(plain, { authority, isTls, authorization });
      adopt(plain);
    };
    const leaf = isTls ? interceptor.leafFor(name) : undefined;
    socket.write(ESTABLISHED);
    if (head.byteLength > 0) socket.unshift(head);
    if (leaf === undefined) serve(socket);
    else {
      this.#watch(socket);
      interceptor.decrypt(socket, name, leaf, (secure) => serve(Object.assign(secure, { [state]: socket[state] })));
    }
  }

  async #passUnread(socket: ProxyConnection, host: ProxyHost, head: Buffer): Promise<void> {
    this.#watch(socket);
    const upstream = await openTunnel(host, this.#ports.connectMs);
    if (socket.destroyed) upstream.destroy();
    else join(socket, upstream, head);
  }

  #watch(socket: Duplex): void {
    this.#unwatched.add(socket);
    socket.once('close', () => this.#unwatched.delete(socket));
  }

  /**
   * Undefined where nothing is authenticated. `at`: where the sender wants to go; to be known at one of a host's
   * endpoints is enough for a tunnel. Rejects with a Failure.
   */
  async #identify(
    at: ProxyHost | readonly string[] | undefined,
    credentials: PresentedCredentials,
  ): Promise<Principal | undefined> {
    const { authenticator } = this.#ports.currentGeneration.now;
    // A sender without credentials does not learn which hosts are listed.
    let who = at === undefined ? await authenticator.anywhere(credentials) : undefined;
    for (const path of at === undefined ? [] : endpointsOf(at)) {
      who = await authenticator.identify(path, credentials);
      if (!(who instanceof Failure)) break;
    }
    if (who instanceof Failure) throw asProxyChallenge(who);
    return who;
  }

  /** Of the config in force. */
  get #hosts(): ReadonlyMap<string, ProxyHost> {
    const { config } = this.#ports.currentGeneration.now;
    if (this.#known?.of !== config) this.#known = { of: config, hosts: proxyHostsOf(config) };
    return this.#known.hosts;
  }

  #refuse(res: HttpAnswer, error: unknown, found: ProxyFacts): void {
    const failure = faultFailure(error, this.#ports.shared.notes);
    const { req } = res;
    // For the log: the target without its query, and without what is wrong about it.
    req.url = found.authority ?? '';
    res.isLast = true;
    res.reading = undefined;
    this.#record(req, failure, found);
    respondFailure(res, failure);
    discardRest(res);
  }

  #dismiss(socket: ProxyConnection, error: unknown, found: ProxyFacts): void {
    const { shared, broken, currentGeneration } = this.#ports;
    const failure = faultFailure(error, shared.notes);
    const address = currentGeneration.now.addresses.of({ socket });
    this.#record({ socket }, failure, found);
    shared.notes.failed(failure, () => ({ address, path: found.authority ?? '' }));
    broken.dismiss(socket, failure);
  }

  #record(from: Pick<PresentedCredentials, 'socket'>, { reason, http }: Failure, found: ProxyFacts): void {
    // Credentials that an endpoint refuses are recorded there.
    const { authority: name = '', principal } = found;
    if (http?.status === 407 && this.#hosts.has(name)) return;
    const { authorizer, addresses } = this.#ports.currentGeneration.now;
    authorizer.trail.early({ reason, endpoint: 'proxy', name, principal, address: addresses.of(from) });
  }
}

function endpointsOf(at: ProxyHost | readonly string[]): readonly string[] {
  return 'targets' in at ? [...at.targets.values()].map(({ endpoint }) => endpoint) : at;
}

/** Throws a Failure. */
function targetOf(req: IncomingMessage, tunnel: OpenTunnel | undefined): WantedTarget {
  const { url = '', headers } = req;
  checkHost(req);
  return tunnel === undefined ? absoluteTarget(url, headers.host) : innerTarget(url, headers.host, tunnel);
}

/** Throws a Failure. */
function connectTargetOf(req: IncomingMessage): string {
  const { url = '', headers } = req;
  checkHost(req);
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  if (hasBody) throw new Failure('proxy_target_invalid', { message: 'A CONNECT has no body' });
  return connectTarget(url, headers.host);
}

function checkHost(req: IncomingMessage): void {
  const message = malformedHost(req, req.headers.host);
  if (message !== undefined) throw new Failure('proxy_target_invalid', { message });
}
