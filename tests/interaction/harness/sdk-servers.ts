/**
 * Official SDK servers on real sockets: v1 with sessions (legacy), v2 without them (modern). Nothing here is ended by
 * itself: a suite shares one server and closes it, a test that wants its own says so with `startV1` and `startV2`.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { Server as ServerV1 } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport as HttpV1 } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  createMcpHandler,
  McpServer as McpServerV2,
  type ServerNotifier,
  Server as ServerV2,
} from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import type { Json } from './client.ts';

export { McpServerV1, McpServerV2, ServerV1, ServerV2 };

export interface SdkServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface SdkServerV1<T> extends SdkServer {
  /** One for each session, in the order of their making. The probe of a gateway has a session, too. */
  readonly made: readonly T[];
  /** Whether the newest session has a standalone stream open. */
  readonly listening: boolean;
}

export interface SdkServerV2 extends SdkServer {
  /** Notifies every listener. */
  readonly notify: ServerNotifier;
}

/** `create` is called for each session. */
export async function serveV1<T extends ServerV1 | McpServerV1>(create: () => T): Promise<SdkServerV1<T>> {
  const made: T[] = [];
  const sessions = new Map<string, HttpV1>();
  const streams = new Map<string, ServerResponse>();
  let newest: HttpV1 | undefined;
  const open = async (): Promise<HttpV1> => {
    const transport: HttpV1 = new HttpV1({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = create();
    made.push(server);
    newest = transport;
    await server.connect(transport as Parameters<ServerV1['connect']>[0]);
    return transport;
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (request.method === 'GET' && typeof id === 'string') streams.set(id, response);
    if (id !== undefined && known === undefined) response.writeHead(404).end();
    else await (known ?? (await open())).handleRequest(request, response);
  };
  const server = await listen((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  return {
    ...server,
    made,
    get listening() {
      return streams.get(newest?.sessionId ?? '')?.headersSent === true;
    },
  };
}

/** `create` is called for each request. */
export async function serveV2(create: () => ServerV2 | McpServerV2): Promise<SdkServerV2> {
  const handler = createMcpHandler(create, { legacy: 'reject' });
  const node = toNodeHandler(handler);
  const server = await listen((request, response) => {
    node(request as NodeIncomingMessageLike, response).catch(() => response.destroy());
  });
  return {
    url: server.url,
    notify: handler.notify,
    close: async () => {
      await handler.close();
      await server.close();
    },
  };
}

export async function startV1<T extends ServerV1 | McpServerV1>(create: () => T): Promise<SdkServerV1<T>> {
  const server = await serveV1(create);
  onTestFinished(() => server.close());
  return server;
}

export async function startV2(create: () => ServerV2 | McpServerV2): Promise<SdkServerV2> {
  const server = await serveV2(create);
  onTestFinished(() => server.close());
  return server;
}

export interface Description {
  readonly info?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Readonly<Record<string, object>>;
  readonly instructions?: string;
}

/** What a server can say while it works on a request. */
export interface Talk {
  readonly meta: Json;
  /** Undefined in the modern era, which has none. */
  readonly session: string | undefined;
  /** Aborted when the client gives the request up. */
  readonly signal: AbortSignal;
  notify(method: string, params: object): Promise<void>;
}

/** What a server answers to a method: the same words serve both SDKs. */
export type Answers = Readonly<Record<string, (params: Json, talk: Talk) => object | Promise<object>>>;

const self = { name: 'sdk-server', version: '1.0.0' };

export function plainV1({ info, ...options }: Description, answers: Answers): ServerV1 {
  const server = new ServerV1({ ...self, ...info }, options);
  for (const [method, answer] of Object.entries(answers)) {
    const schema = z.looseObject({ method: z.literal(method), params: z.unknown().optional() });
    const handle = async ({ params }: { params: Json }, { _meta, signal, sessionId, sendNotification }: Json) =>
      answer(params, {
        meta: _meta,
        session: sessionId,
        signal,
        notify: (said, about) => sendNotification({ method: said, params: about }),
      });
    server.setRequestHandler(schema as never, handle as never);
  }
  return server;
}

export function plainV2({ info, ...options }: Description, answers: Answers): ServerV2 {
  const server = new ServerV2({ ...self, ...info }, options);
  for (const [method, answer] of Object.entries(answers)) {
    const handle = async ({ params }: { params: Json }, { mcpReq }: Json) =>
      answer(params, {
        meta: mcpReq._meta,
        session: undefined,
        signal: mcpReq.signal,
        notify: (said, about) => mcpReq.notify({ method: said, params: about }),
      });
    server.setRequestHandler(method as 'tools/list', handle as never);
  }
  return server;
}

/** Thrown by an answer, it becomes the JSON-RPC error that it describes: both SDKs look at `code` and `data`. */
export function rpcError(code: number, message: string, data?: unknown): Error {
  return Object.assign(new Error(message), { code, ...(data === undefined ? {} : { data }) });
}

async function listen(handle: RequestListener): Promise<SdkServer> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
