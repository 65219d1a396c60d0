/** A listener beside the one for clients: its own address, the same checks of `Host`, and one handler. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../errors/failure.ts';
import { malformedHost, type Origins, targetOf } from './origin.ts';

export interface SideListenerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Which names in `Host` are ours. */
  readonly origins: Origins;
  readonly maxConnections: number;
  /** For the whole request, with its headers. */
  readonly requestMs: number;
  /** `path`: without the query. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): void;
  hostRefused(host: string): void;
  /** An unexpected error of ours. */
  fault(error: unknown): void;
}

export interface SideListener {
  /** Without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects where the address cannot be bound. */
export async function startSideListener(options: SideListenerOptions): Promise<SideListener> {
  const { listen, requestMs, maxConnections, fault } = options;
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (req, res) => {
    try {
      serve(req, res, options);
    } catch (error) {
      fault(error);
      res.destroy();
    }
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host.replace(/^\[|\]$/g, ''), () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', fault);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function serve(req: IncomingMessage, res: ServerResponse, options: SideListenerOptions): void {
  const { path, host } = targetOf(req.url ?? '', req.headers.host);
  const malformed = malformedHost(req, host);
  const refusal =
    malformed === undefined
      ? options.origins.checkHost(host, options)
      : new Failure('invalid_request', { message: malformed });
  if (refusal === undefined) options.handle(req, res, path);
  else respondText(res, refusal.row.status, `${refusal.message}\n`);
}

/** A short text for people and programs that are not browsers. */
export function respondText(
  res: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const head = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers };
  res.writeHead(status, { ...head, 'Content-Length': Buffer.byteLength(text) }).end(text);
}
