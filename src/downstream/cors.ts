/**
 * The response headers that let a browser page read a response (WHATWG Fetch, "CORS protocol"). Credentials in the
 * sense of that protocol, cookies above all, are never allowed: a page sends its token itself.
 */
import type { IncomingMessage } from 'node:http';

/** Headers that a page may read besides those that are always readable. */
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate';
/**
 * How long a browser may cache the preflight, in seconds: long enough for a conversation, short enough for a config
 * change.
 */
const MAX_AGE = '600';
/** A request has a dozen headers, and one for each mirrored parameter. */
const MAX_NAMES = 64;

/**
 * Headers that an MCP request of any revision can have. The rest of a parameter's name is a token (RFC 9110, 5.6.2).
 */
const ofRequests =
  /^(?:accept|authorization|content-type|last-event-id|mcp-(?:session-id|protocol-version|method|name|param-[!#$%&'*+.^_`|~0-9a-z-]+))$/i;

/** Belongs to every response to an allowed origin, failures too: without it a page cannot see why it was refused. */
export function pushCors(head: string[], origin: string): void {
  head.push('Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED, 'Vary', 'Origin');
}

/** `keyHeader` is the header in which the endpoint accepts keys, besides `Authorization`. */
export function preflightHeaders(req: IncomingMessage, allow: string, keyHeader?: string): string[] {
  const head = ['Allow', allow];
  if (req.headers.origin === undefined) return head;
  head.push('Access-Control-Allow-Methods', allow, 'Access-Control-Max-Age', MAX_AGE);
  const names = requestedNames(req.headers['access-control-request-headers'], keyHeader);
  if (names !== '') head.push('Access-Control-Allow-Headers', names);
  return head;
}

/** The requested headers that belong to the protocol. A page that may use MCP may send no other headers. */
function requestedNames(asked: string | string[] | undefined, keyHeader: string | undefined): string {
  if (typeof asked !== 'string') return '';
  return asked
    .split(',', MAX_NAMES)
    .map((name) => name.trim())
    .filter((name) => ofRequests.test(name) || name.toLowerCase() === keyHeader)
    .join(', ');
}
