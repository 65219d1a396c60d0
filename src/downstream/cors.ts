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

/** What an MCP request of any revision can have. The rest of a parameter's name is a token (RFC 9110, 5.6.2). */
const ofRequests =
  /^(?:accept|authorization|content-type|last-event-id|mcp-(?:session-id|protocol-version|method|name|param-[!#$%&'*+.^_`|~0-9a-z-]+))$/i;

/** Belongs to every answer to an allowed origin, failures too: without it a page cannot see why it was refused. */
export function pushCors(head: string[], origin: string): void {
  head.push('Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED, 'Vary', 'Origin');
}

/** `keyHeader` is where the endpoint takes keys, besides `Authorization`. */
export function preflightHeaders(req: IncomingMessage, allow: string, keyHeader?: string): string[] {
  const head = ['Allow', allow];
  if (req.headers.origin === undefined) return head;
  head.push('Access-Control-Allow-Methods', allow, 'Access-Control-Max-Age', MAX_AGE);
  const names = requestedNames(req.headers['access-control-request-headers'], keyHeader);
  if (names !== '') head.push('Access-Control-Allow-Headers', names);
  return head;
}

/** What was asked for and belongs to the protocol. A page that is allowed to speak MCP to us is allowed nothing else. */
function requestedNames(asked: string | string[] | undefined, keyHeader: string | undefined): string {
  if (typeof asked !== 'string') return '';
  return asked
    .split(',', MAX_NAMES)
    .map((name) => name.trim())
    .filter((name) => ofRequests.test(name) || name.toLowerCase() === keyHeader)
    .join(', ');
}
