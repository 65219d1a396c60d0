/**
 * Which redirect URIs a client may register: https, or http on this machine by one of the three names that OAuth 2.1
 * (8.4.2) allows. Private-use schemes of apps are refused: MCP makes no exception for them.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#communication-security
 */
import { authServerLimits } from './limits.ts';

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** RFC 3986, 2. The platform's URL parser drops or rewrites invalid characters; we refuse them. */
const legible = /^[\x21-\x5b\x5d-\x7e]+$/;
/** Matches the text as written: the URL parser would turn 127.1 and 0x7f000001 into an allowed host. */
const authority = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?(?:[/?]|$)/i;

/** Undefined if the URI may be registered. Otherwise what is wrong with it, for the client's developer. */
export function redirectFault(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || uri === '') return 'every redirect URI is a non-empty string';
  if (uri.length > authServerLimits.redirectUriChars) {
    return `a redirect URI has at most ${authServerLimits.redirectUriChars} characters`;
  }
  if (!legible.test(uri)) return 'a redirect URI has visible ASCII characters alone, and no backslash';
  if (uri.includes('#')) return 'a redirect URI has no fragment';
  const written = authority.exec(uri);
  if (written === null) return 'a redirect URI is an https:// address, or an http:// one on loopback';
  const [, scheme = '', host = '', port] = written;
  if (port !== undefined && Number(port) > 65_535) return 'a port is at most 65535';
  if (!URL.canParse(uri)) return 'a redirect URI is a valid address';
  if (scheme.toLowerCase() === 'https') return undefined;
  if (loopback.has(host.toLowerCase())) return undefined;
  return 'http:// is for localhost, 127.0.0.1 and [::1] alone; everything else is https://';
}

export function redirectsFault(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0) return 'at least one redirect URI is needed';
  if (uris.length > authServerLimits.redirectUris) return `at most ${authServerLimits.redirectUris} redirect URIs`;
  for (const uri of uris) {
    const fault = redirectFault(uri);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Any program on the person's computer can listen there. */
export function isOnThisComputer(uri: string): boolean {
  return URL.canParse(uri) && loopback.has(new URL(uri).hostname);
}

/** RFC 8252, 7.3: a native client uses any free port, so the port is not compared. */
export function isNative(uris: readonly string[]): boolean {
  const onThisComputer = uris.filter(isOnThisComputer);
  return onThisComputer.length > 0 && onThisComputer.every((uri) => uri.toLowerCase().startsWith('http:'));
}
