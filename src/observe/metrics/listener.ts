/** The listener for scrapes: `GET /metrics`, and nothing else. It has its own address, so that no client reaches it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { contentTypes, formatFor, type TextFormat } from './text.ts';

export interface MetricsListenerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly text: (format: TextFormat) => string | Promise<string>;
  /** An unexpected error of ours. */
  readonly fault: (error: unknown) => void;
}

export interface MetricsListener {
  /** Where it listens, with the path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Two servers for each replica of Prometheus scrape at once, at the most; the rest is for people. */
const MOST_CONNECTIONS = 16;
/** A scrape has no body and few headers. */
const REQUEST_MS = 5_000;

export async function startMetrics({ listen, text, fault }: MetricsListenerOptions): Promise<MetricsListener> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (req, res) => {
    answer(req, res, text).catch((error: unknown) => {
      fault(error);
      res.destroy();
    });
  });
  server.maxConnections = MOST_CONNECTIONS;
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
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(req: IncomingMessage, res: ServerResponse, text: MetricsListenerOptions['text']): Promise<void> {
  const [path] = (req.url ?? '').split('?', 1);
  if (path !== '/metrics') respond(res, 404, 'Not found: metrics are at /metrics\n');
  else if (req.method !== 'GET' && req.method !== 'HEAD')
    respond(res, 405, 'Method not allowed\n', { Allow: 'GET, HEAD' });
  else {
    const format = formatFor(req.headers.accept);
    respond(res, 200, await text(format), { 'Content-Type': contentTypes[format] });
  }
}

function respond(res: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  const head = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers };
  res.writeHead(status, { ...head, 'Content-Length': Buffer.byteLength(text) }).end(text);
}
