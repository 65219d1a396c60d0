/**
 * Headers in both directions: request headers as the flat arrays that undici takes without copying, and response
 * headers.
 */
import type { IncomingHttpHeaders } from 'node:http';

export type HeaderRecord = Readonly<Record<string, string>>;

/**
 * Headers that the transport writes itself. Configured headers of these names are ignored: people copy whole header
 * blocks, and a second `Accept` or `Content-Type` confuses the backend. The HTTP client refuses other invalid ones.
 */
const reserved = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
  'upgrade',
]);

/** Bodies are forwarded unchanged, so they must not be compressed. */
const common = ['accept-encoding', 'identity'] as const;

export class RequestHeaders {
  readonly #post: readonly string[];
  readonly #get: readonly string[];

  /** `accept`: media types of the response to a POST. */
  constructor(configured: HeaderRecord, accept = 'application/json, text/event-stream') {
    const base: string[] = [...common];
    let hasAgent = false;
    for (const [name, value] of Object.entries(configured)) {
      const lower = name.toLowerCase();
      if (reserved.has(lower)) continue;
      if (lower === 'user-agent') hasAgent = true;
      base.push(lower, value);
    }
    if (!hasAgent) base.push('user-agent', 'bascule');
    this.#get = ['accept', 'text/event-stream', ...base];
    this.#post = ['accept', accept, 'content-type', 'application/json', ...base];
  }

  post(own: HeaderRecord): string[] {
    const headers = this.#post.slice();
    for (const name in own) headers.push(name, own[name] as string);
    return headers;
  }

  get(own: HeaderRecord, lastEventId?: string): string[] {
    const headers = this.#get.slice();
    for (const name in own) headers.push(name, own[name] as string);
    if (lastEventId !== undefined) headers.push('last-event-id', lastEventId);
    return headers;
  }
}

/** `none`: the response has no `Content-Type`. */
export type MediaType = 'json' | 'sse' | 'none' | 'other';

export function mediaType(headers: IncomingHttpHeaders): MediaType {
  const value = headers['content-type'];
  if (value === undefined) return 'none';
  // The two most common values.
  if (value === 'application/json' || value === 'application/json; charset=utf-8') return 'json';
  if (value === 'text/event-stream') return 'sse';
  const end = String(value).indexOf(';');
  const type = (end === -1 ? String(value) : String(value).slice(0, end)).trim().toLowerCase();
  if (type === 'application/json') return 'json';
  if (type === 'text/event-stream') return 'sse';
  return type === '' ? 'none' : 'other';
}

export function singleHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Whether the headers carry a session id, so that a 404 is about the session. */
export function namesSession(headers: HeaderRecord): boolean {
  for (const name in headers) if (name.toLowerCase() === 'mcp-session-id') return true;
  return false;
}
