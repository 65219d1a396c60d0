/** A gateway with a proxy, backends with and without TLS, and clients that reach them through it. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { readCa, writeCa } from '../../../src/app/proxy-ca.ts';
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import { makeCa, makeLeaf } from '../../../src/proxy/certificates/certificate.ts';
import { interceptedNames } from '../../../src/proxy/hosts.ts';
import { type Answer, type Call, type Headers, OpenAnswer, within } from '../harness/client.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';

/** What the backend with TLS presents. The gateway is made to accept it below. */
const backendCa = makeCa(['localhost'], Date.now());
const backendLeaf = makeLeaf('localhost', backendCa, Date.now());
export const backendCaPem = backendCa.certificate;
export const backendTls = { cert: backendLeaf.certificate, key: backendLeaf.key };

/** The gateway verifies backends by the system's roots. Clients of these tests verify by their own. */
export function trustBackends(): void {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
}

export interface ProxyHouse {
  readonly gateway: TestGateway;
  readonly plain: ScriptedBackend;
  readonly tls: ScriptedBackend;
  readonly records: AuditRecord[];
  /** Of the proxy's certificate authority, in PEM. */
  readonly ca: string;
  forget(): void;
  /** Bytes at both backends since then. */
  readonly bytes: number;
}

const goods: Script = {
  'tools/list': (turn) =>
    turn.result({
      ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
      tools: [{ name: 'work', inputSchema: { type: 'object' } }],
    }),
  'tools/call': (turn) =>
    turn.result({ resultType: 'complete', content: [{ type: 'text', text: turn.message.params.name }] }),
};

export interface ProxyPlan {
  readonly era?: 'legacy' | 'modern';
  readonly script?: Script;
  /** Of both backends. */
  readonly backend?: ConfigValue;
  readonly proxy?: ConfigValue;
  readonly more?: ConfigValue;
  /** False: `bascule proxy ca` was not run. */
  readonly hasCa?: boolean;
}

export async function openProxy(plan: ProxyPlan = {}): Promise<ProxyHouse> {
  const { era = 'modern', script, backend, proxy, more, hasCa = true } = plan;
  const launch = era === 'modern' ? modernBackend : legacyBackend;
  const all = { ...goods, ...script };
  const [plain, tls] = await Promise.all([launch(all), launch(all, { tls: backendTls })]);
  const records: AuditRecord[] = [];
  const audit: Audit = { write: (one) => void records.push(one), reserve: () => true, close: async () => undefined };
  const gateway = await startGateway(
    {
      backends: { plain: { url: plain.url, ...backend }, tls: { url: tls.url, ...backend } },
      proxy: { listen: { port: 0 }, ...proxy },
      ...more,
    },
    { audit },
  );
  const { config } = gateway;
  const { dir } = config.store;
  if (hasCa) writeCa(dir, makeCa(interceptedNames(config), Date.now()));
  return {
    ...{ gateway, plain, tls, records },
    get ca() {
      return readCa(dir)?.certificate ?? '';
    },
    forget: () => {
      plain.forget();
      tls.forget();
      records.length = 0;
    },
    get bytes() {
      return plain.bytes + tls.bytes;
    },
  };
}

/** One way through the proxy to one of the backends. */
export interface ProxyWay {
  readonly name: string;
  readonly to: 'plain' | 'tls';
  send(house: ProxyHouse, call: Call & Proxied): Promise<Answer>;
}

export interface Proxied {
  /** `Proxy-Authorization` and whatever else is for the proxy. */
  readonly forProxy?: Headers;
  /** In place of the backend's own path. */
  readonly path?: string;
}

export const ways: readonly ProxyWay[] = [
  {
    name: 'absolute form',
    to: 'plain',
    send: (house, { path = '', ...call }) =>
      sendAbsolute(house.gateway.proxy, new URL(path, house.plain.url).href, call),
  },
  { name: 'CONNECT', to: 'plain', send: (house, call) => sendInTunnel(house, 'plain', call) },
  { name: 'CONNECT with TLS', to: 'tls', send: (house, call) => sendInTunnel(house, 'tls', call) },
];

export function sendAbsolute(proxy: string, target: string, { forProxy, ...call }: Call & Proxied): Promise<Answer> {
  const { hostname, port } = new URL(proxy);
  const headers = { host: new URL(target).host, ...forProxy, ...call.headers };
  return sendOn({ host: hostname, port, path: target }, { ...call, headers });
}

async function sendInTunnel(
  house: ProxyHouse,
  to: 'plain' | 'tls',
  { forProxy, path, ...call }: Call & Proxied,
): Promise<Answer> {
  const url = new URL(path ?? '', house[to].url);
  const opened = await tunnelTo(house.gateway.proxy, url.host, forProxy);
  if (!('socket' in opened)) return opened;
  const socket =
    to === 'tls' ? await secured(opened.socket, { servername: url.hostname, ca: house.ca }) : opened.socket;
  const headers = { host: url.host, ...call.headers };
  return sendOn({ createConnection: () => socket, path: `${url.pathname}${url.search}` }, { ...call, headers });
}

/** The answer of the proxy, where it is not 200. */
export async function tunnelTo(
  proxy: string,
  authority: string,
  headers: Headers = {},
): Promise<Answer | { readonly socket: Socket }> {
  const { hostname, port } = new URL(proxy);
  const host = { host: authority, ...headers };
  const request = httpRequest({
    host: hostname,
    port,
    method: 'CONNECT',
    path: authority,
    headers: host,
    agent: false,
  });
  const opened = new Promise<Answer | { readonly socket: Socket }>((resolve, reject) => {
    request.on('connect', (response, socket, head) => {
      onTestFinished(() => void socket.destroy());
      if (response.statusCode === 200) resolve({ socket });
      else refusedTunnel(response, socket, head).then(resolve, reject);
    });
    request.on('error', reject);
  });
  request.end();
  return within(opened, () => `no answer to CONNECT ${authority}`);
}

/** Node's client leaves the body of a refused CONNECT on the socket. */
async function refusedTunnel(response: IncomingMessage, socket: Socket, head: Buffer): Promise<Answer> {
  const chunks = [head];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise<void>((resolve) => socket.on('end', () => resolve()).on('close', () => resolve()));
  const body = Buffer.concat(chunks).toString();
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body, json: () => JSON.parse(body), events: [] };
}

export function secured(socket: Socket, options: { servername?: string; ca: string }): Promise<TLSSocket> {
  const { servername, ca } = options;
  return new Promise((resolve, reject) => {
    const secure = connectTls({
      ...{ socket, ca, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] },
      ...(servername !== undefined && { servername }),
    });
    secure.once('secureConnect', () => resolve(secure));
    secure.once('error', reject);
    secure.once('close', () => reject(new Error('the connection was closed')));
    onTestFinished(() => void secure.destroy());
  });
}

async function sendOn(options: RequestOptions, { method = 'POST', headers, body }: Call): Promise<Answer> {
  const raw = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const request = httpRequest({
    ...options,
    ...(options.createConnection === undefined && { agent: false }),
    method,
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
  });
  onTestFinished(() => void request.destroy());
  const answered = new Promise<OpenAnswer>((resolve, reject) => {
    request.on('response', (message) => resolve(new OpenAnswer(message)));
    request.on('error', reject);
  });
  request.end(raw);
  const stream = await within(answered, () => `no answer to ${method}`);
  await stream.ended;
  const text = stream.text();
  return {
    status: stream.status,
    headers: stream.headers,
    body: text,
    json: () => JSON.parse(text),
    events: stream.events,
  };
}

/** Bytes as they are; resolves with everything that comes back until the connection is closed. */
export function sendRaw(proxy: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(proxy);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  socket.on('error', () => undefined);
  socket.write(bytes);
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(heard)));
  return within(closed, () => `the connection stays open after: ${heard}`);
}
