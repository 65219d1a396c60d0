/**
 * The control socket: the console's API for the user who runs the gateway, over HTTP on a Unix socket. The rights of
 * the file are the authentication: no other user can open it.
 */
import { statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { listenOnSocket } from '../../downstream/unix-socket.ts';
import { StoreError } from '../../store/errors.ts';
import { prepareDirectory } from '../../store/file/directory.ts';
import { isObject } from '../../wire/values.ts';
import { removeStale } from '../stale-socket.ts';
import { ControlError, controlPath } from './socket-path.ts';

/** As `/console/api` is asked. `path` is below it, such as `/overview`. */
export interface ControlRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON of a POST. */
  readonly body: unknown;
}

export interface ControlAnswer {
  readonly status: number;
  readonly body: object;
}

export type Operate = (request: ControlRequest) => Promise<ControlAnswer>;

export interface ControlServer {
  readonly path: string;
  close(): Promise<void>;
}

export const API = '/console/api';
const OWNER_ONLY = 0o600;
/** Arguments of a call. Clients over HTTP may send more, people do not. */
const BODY_BYTES = 1024 * 1024;
/** Commands of one person. */
const CONNECTIONS = 32;
const REQUEST_MS = 10_000;

/** Throws a ControlError where the socket cannot be served safely. */
export async function startControl(
  storeDir: string,
  operate: Operate,
  fault: (error: unknown) => void,
): Promise<ControlServer> {
  const path = controlPath(storeDir);
  prepare(storeDir);
  const there = await removeStale(path);
  if (there === 'not a socket') throw new ControlError(`${path} is not a socket: remove it`);
  if (there === 'in use') throw new ControlError(`another gateway with the state directory ${dirname(path)} runs`);
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (req, res) => {
    serveRequest(req, res, operate).catch((error: unknown) => {
      fault(error);
      if (res.headersSent) res.destroy();
      else send(res, failed(500, 'internal_error', 'The gateway has a fault; its log has the details'));
    });
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new ControlError(`cannot listen on ${path} (${codeOf(error)})`)));
    listenOnSocket(server, { path, mode: OWNER_ONLY }, resolve);
  });
  server.on('error', fault);
  // The gateway must be able to end while a command waits.
  server.unref();
  return {
    path,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A user who may write into the directory could put another socket there. */
function prepare(dir: string): void {
  try {
    prepareDirectory(dir);
  } catch (error) {
    throw error instanceof StoreError ? new ControlError(error.message) : error;
  }
  const { uid, mode } = statSync(dir);
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0)
    throw new ControlError(`other users may write into ${dir}: give it to this user alone (chmod 700)`);
}

async function serveRequest(req: IncomingMessage, res: ServerResponse, operate: Operate): Promise<void> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://control');
  if (!pathname.startsWith(`${API}/`)) {
    send(res, failed(404, 'unknown_path', `Only ${API} is served here`));
    return;
  }
  const body = req.method === 'POST' ? await readBody(req) : undefined;
  if (body instanceof ControlError) {
    send(res, failed(400, 'invalid_body', body.message));
    return;
  }
  send(res, await operate({ method: req.method ?? '', path: pathname.slice(API.length), query: searchParams, body }));
}

async function readBody(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_BYTES) return new ControlError(`The body is over ${BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return isObject(value) ? value : new ControlError('The body is not a JSON object');
  } catch {
    return new ControlError('The body is not JSON');
  }
}

export function failed(status: number, reason: string, message: string): ControlAnswer {
  return { status, body: { error: { reason, message } } };
}

function send(res: ServerResponse, { status, body }: ControlAnswer): void {
  const bytes = Buffer.from(JSON.stringify(body));
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
  });
  res.end(bytes);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
