/** The listener for scrapes: `GET /metrics`, and nothing else. It has its own address, so that no client reaches it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopbackBind, Origins } from '../../downstream/origin.ts';
import {
  respondText,
  type SideListener,
  type SideListenerOptions,
  startSideListener,
} from '../../downstream/side-listener.ts';
import { contentTypes, formatFor, type TextFormat } from './text.ts';

export interface MetricsListenerOptions extends Pick<SideListenerOptions, 'listen' | 'hostRefused' | 'fault'> {
  /** Names in `Host` besides the address, where it is loopback. */
  readonly allowedHosts: readonly string[];
  readonly text: (format: TextFormat) => string | Promise<string>;
}

const METRICS_PATH = '/metrics';
/** Two servers for each replica of Prometheus scrape at once, at the most; the rest is for people. */
const MOST_CONNECTIONS = 16;
/** A scrape has no body and few headers. */
const REQUEST_MS = 5_000;

/** The `url` of the listener is with the path. */
export async function startMetrics({ text, ...options }: MetricsListenerOptions): Promise<SideListener> {
  const { host } = options.listen;
  // The names under which other machines scrape are not those of the endpoints: only loopback is checked.
  const allowedHosts = isLoopbackBind(host) ? options.allowedHosts : [];
  const listener = await startSideListener({
    ...options,
    origins: new Origins({ host, allowedOrigins: [], allowedHosts }),
    maxConnections: MOST_CONNECTIONS,
    requestMs: REQUEST_MS,
    handle: (req, res, path) => {
      answer(req, res, path, text).catch((error: unknown) => {
        options.fault(error);
        res.destroy();
      });
    },
  });
  return { url: `${listener.url}${METRICS_PATH}`, close: () => listener.close() };
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  text: MetricsListenerOptions['text'],
): Promise<void> {
  if (path !== METRICS_PATH) respondText(res, 404, 'Not found: metrics are at /metrics\n');
  else if (req.method !== 'GET' && req.method !== 'HEAD')
    respondText(res, 405, 'Method not allowed\n', { Allow: 'GET, HEAD' });
  else {
    const format = formatFor(req.headers.accept);
    respondText(res, 200, await text(format), { 'Content-Type': contentTypes[format] });
  }
}
