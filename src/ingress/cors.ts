/**
 * What browsers must be told before a page may read an answer (WHATWG Fetch, "CORS protocol"). Credentials in the sense
 * of that protocol, cookies above all, are never asked for: a page presents its token itself.
 */
import type { IncomingMessage } from 'node:http';

/** What a page may read beside the headers that it always may. */
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate';
/** How long a browser may remember the answer, in seconds: long enough for a conversation, short enough for a change of config. */
const MAX_AGE = '600';
/** A request has a dozen headers of its own, and one for each mirrored parameter. */
const MAX_NAMES = 64;

/** RFC 9110, 5.6.2: what a header's name may consist of. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Belongs to every answer to an allowed origin, failures too: without it a page cannot see why it was refused. */
export function pushCors(head: string[], origin: string): void {
  head.push('Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED, 'Vary', 'Origin');
}

export function preflightHeaders(req: IncomingMessage, allow: string): string[] {
  const head = ['Allow', allow];
  if (req.headers.origin === undefined) return head;
  head.push('Access-Control-Allow-Methods', allow, 'Access-Control-Max-Age', MAX_AGE);
  const names = requestedNames(req.headers['access-control-request-headers']);
  if (names !== '') head.push('Access-Control-Allow-Headers', names);
  return head;
}

/**
 * The names that were asked for and are names. An allowed origin may send any header; which of them matter is decided
 * later. A star would be taken for all of them.
 */
function requestedNames(asked: string | string[] | undefined): string {
  if (typeof asked !== 'string') return '';
  return asked
    .split(',', MAX_NAMES)
    .map((name) => name.trim())
    .filter((name) => token.test(name) && name !== '*')
    .join(', ');
}
