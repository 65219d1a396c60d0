/** Backends that take whatever the gateway forwards, hand over its bytes, and answer as their era does. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { answerTo, type Era, isHousekeeping } from './answers.js';

export interface Forwarded {
  readonly backend: string;
  readonly bytes: Buffer;
  readonly headers: IncomingMessage['headers'];
}

export type Take = (forwarded: Forwarded) => void;

export interface Running {
  /** For the config of the gateway. */
  readonly config: object;
  close(): void;
}

export async function startHttpBackend(backend: string, era: Era, take: Take): Promise<Running> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((bytes) => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = readOrNothing(bytes);
      if (!isHousekeeping(message)) take({ backend, bytes, headers: request.headers });
      respond(response, answerTo(message, era));
    });
  });
  const port = await listening(server);
  const config = { url: `http://127.0.0.1:${port}/mcp` };
  return { config, close: () => stop(server) };
}

export async function startService(backend: string, take: Take): Promise<Running> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((bytes) => {
      take({ backend, bytes, headers: request.headers });
      const message = readOrNothing(bytes);
      const answers = (Array.isArray(message) ? message : [message]).map(({ id }) => ({
        jsonrpc: '2.0',
        id,
        result: 'done',
      }));
      respond(response, Array.isArray(message) ? answers : answers[0]);
    });
  });
  const port = await listening(server);
  return { config: { protocol: 'json-rpc', url: `http://127.0.0.1:${port}/` }, close: () => stop(server) };
}

/** A process that hands over every line that it gets, through a socket. */
export async function startStdioBackend(backend: string, take: Take): Promise<Running> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    createInterface({ input: socket }).on('line', (line) => {
      const bytes = Buffer.from(line, 'base64');
      if (!isHousekeeping(readOrNothing(bytes))) take({ backend, bytes, headers: {} });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const program = fileURLToPath(new URL('./recorder.js', import.meta.url));
  return {
    config: { command: process.execPath, args: [program, String(port)], share: true },
    close: () => void server.close(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly protocolVersion?: unknown };
}

function readOrNothing(bytes: Buffer): Message {
  try {
    return JSON.parse(bytes.toString()) as Message;
  } catch {
    return {};
  }
}

function respond(response: ServerResponse, answer: unknown): void {
  if (answer === undefined) response.writeHead(202).end();
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

async function listening(server: Server): Promise<number> {
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function stop(server: Server): void {
  server.close();
  server.closeAllConnections();
}
