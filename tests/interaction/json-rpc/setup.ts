/** A gateway with one JSON-RPC service behind it, which counts what reaches it, and an MCP backend beside it. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import { type Answer, type Headers, type Json, send } from '../harness/client.ts';
import { type ConfigValue, launchGateway, type Ports, type TestGateway } from '../harness/gateway.ts';

export interface Visit {
  readonly http: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly response: ServerResponse;
}

export type Serve = (visit: Visit) => void;

export interface Service {
  readonly url: string;
  readonly visits: readonly Visit[];
  /** Everything that came over the wire, heads included. */
  readonly bytes: number;
  serve: Serve;
  forget(): void;
  close(): Promise<void>;
}

export function json(response: ServerResponse, body: unknown, status = 200): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

/** Answers every request with its own method and params, and takes everything else. */
export const echo: Serve = ({ text, response }) => {
  const message: Json = JSON.parse(text);
  const answer = ({ id, method, params }: Json) => ({ jsonrpc: '2.0', id, result: { method, params } });
  const asked = (Array.isArray(message) ? message : [message]).filter((one) => one.method && one.id !== undefined);
  if (asked.length === 0) response.writeHead(204).end();
  else json(response, Array.isArray(message) ? asked.map(answer) : answer(asked[0]));
};

export async function launchService(serve: Serve = echo, port = 0): Promise<Service> {
  const visits: Visit[] = [];
  let bytes = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    response.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const visit = { http: request.method ?? '', headers: request.headers, text, response };
      visits.push(visit);
      if (visit.http === 'POST') service.serve(visit);
      else response.writeHead(405).end();
    });
  });
  server.on('connection', (socket) => {
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const service: Service = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
    visits,
    get bytes() {
      return bytes;
    },
    serve,
    forget: () => {
      visits.length = 0;
      bytes = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return service;
}

export interface Plan {
  readonly serve?: Serve;
  readonly endpoint?: ConfigValue;
  readonly service?: ConfigValue;
  readonly more?: ConfigValue;
  readonly ports?: Ports;
}

export interface Shop {
  readonly gateway: TestGateway;
  readonly service: Service;
  readonly records: AuditRecord[];
  readonly url: string;
  post(body: unknown, headers?: Headers): Promise<Answer>;
  close(): Promise<void>;
}

/** For suites that share one. The caller closes it. */
export async function launchShop({ serve, endpoint, service: own, more, ports }: Plan = {}): Promise<Shop> {
  const service = await launchService(serve);
  const records: AuditRecord[] = [];
  const audit: Audit = { write: (record) => void records.push(record), close: async () => undefined };
  const gateway = await launchGateway(
    {
      backends: { ledger: { protocol: 'json-rpc', url: service.url, ...own } },
      endpoints: [{ path: '/rpc', protocol: 'json-rpc', backends: ['ledger'], ...endpoint }],
      ...more,
    },
    { audit, ...ports },
  );
  const url = `${gateway.origin}/rpc`;
  return {
    gateway,
    service,
    records,
    url,
    post: (body, headers = {}) => send(url, { body, headers }),
    close: async () => {
      await gateway.close(0);
      await service.close();
    },
  };
}

export async function openShop(plan: Plan = {}): Promise<Shop> {
  const shop = await launchShop(plan);
  onTestFinished(() => shop.close());
  return shop;
}

export function ask(method: string, params?: unknown, id: unknown = 1): Json {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) };
}

export function tell(method: string, params?: unknown): Json {
  return { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) };
}

export function error(id: unknown, code: number, reason: string, data: object = {}): Json {
  return { jsonrpc: '2.0', id, error: { code, message: expectText, data: { reason, ...data } } };
}

/** Messages are for people; the reason is what is relied on. */
const expectText = { asymmetricMatch: (value: unknown) => typeof value === 'string' && value !== '' };
