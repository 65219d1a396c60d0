/** The listener for scrapes: `GET /metrics`, and nothing else. It has its own address, so that no client reaches it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  respondText,
  type SideListener,
  type SideListenerOptions,
  startSideListener,
} from '../../downstream/side-listener.ts';
import { contentTypes, formatFor, type TextFormat } from './text.ts';

export interface MetricsListenerOptions
  extends Pick<SideListenerOptions, 'listen' | 'origins' | 'hostRefused' | 'fault'> {
  readonly text: (format: TextFormat) => string;
}

const METRICS_PATH = '/metrics';
/** Two servers for each replica of Prometheus scrape at once, at the most; the rest is for people. */
const MOST_CONNECTIONS = 16;
/** A scrape has no body and few headers. */
const REQUEST_MS = 5_000;

/** The `url` of the listener is with the path. */
export async function startMetrics({ text, ...options }: MetricsListenerOptions): Promise<SideListener> {
  const listener = await startSideListener({
    ...options,
    maxConnections: MOST_CONNECTIONS,
    requestMs: REQUEST_MS,
    handle: (req, res, path) => answer(req, res, path, text),
  });
  return { url: `${listener.url}${METRICS_PATH}`, close: () => listener.close() };
}

function answer(req: IncomingMessage, res: ServerResponse, path: string, text: MetricsListenerOptions['text']): void {
  if (path !== METRICS_PATH) respondText(res, 404, 'Not found: metrics are at /metrics\n');
  else if (req.method !== 'GET' && req.method !== 'HEAD')
    respondText(res, 405, 'Method not allowed\n', { Allow: 'GET, HEAD' });
  else {
    const format = formatFor(req.headers.accept);
    respondText(res, 200, text(format), { 'Content-Type': contentTypes[format] });
  }
}
