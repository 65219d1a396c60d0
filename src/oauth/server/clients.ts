/** Validates client metadata, at registration and in client ID metadata documents alike. */
import { loopbackNames } from '../fetch/addresses.ts';
import { authServerLimits } from './limits.ts';

/** As received, with the library's defaults filled in. We may change it: RFC 7591, 3.2.1 lets the server substitute. */
export type ClientMetadata = Record<string, unknown>;

/** The only grants that this server offers; a client may list others for use at other servers. */
const grants: ReadonlySet<unknown> = new Set(['authorization_code', 'refresh_token']);

/** Normalizes valid metadata in place and returns undefined. Otherwise returns what is wrong with it. */
export function settleMetadata(metadata: ClientMetadata, scopes: readonly string[]): string | undefined {
  const fault = redirectsFault(metadata.redirect_uris) ?? nameFault(metadata.client_name);
  if (fault !== undefined) return fault;
  const uris = metadata.redirect_uris as readonly string[];
  // Clients rarely send `application_type`, and the default (`web`) is wrong for many of those that do not.
  metadata.application_type = isNative(uris) ? 'native' : 'web';
  // Any client may request any scope, step by step as it needs them; the person decides. The scopes that a client named
  // at registration are only those that it knew of then.
  metadata.scope = scopes.join(' ');
  if (Array.isArray(metadata.grant_types)) {
    const known = metadata.grant_types.filter((grant) => grants.has(grant));
    if (known.length > 0) metadata.grant_types = known;
  }
  return undefined;
}

function nameFault(name: unknown): string | undefined {
  if (name === undefined) return undefined;
  const { clientNameChars } = authServerLimits;
  if (typeof name === 'string' && name.length <= clientNameChars) return undefined;
  return `client_name is text of at most ${clientNameChars} characters`;
}

/** RFC 3986, 2. The platform's URL parser drops or rewrites invalid characters; we refuse them. */
const legible = /^[\x21-\x5b\x5d-\x7e]+$/;
/** Matches the text as written: the URL parser would turn 127.1 and 0x7f000001 into an allowed host. */
const authority = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?(?:[/?]|$)/i;

/**
 * Undefined if the URI may be registered: https, or http on this machine by one of the three names that OAuth 2.1
 * (8.4.2) allows. Otherwise what is wrong with it, for the client's developer. Private-use schemes of apps are refused:
 * MCP makes no exception for them.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#communication-security
 */
function redirectFault(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || uri === '') return 'every redirect URI is a non-empty string';
  if (uri.length > authServerLimits.redirectUriChars) {
    return `a redirect URI has at most ${authServerLimits.redirectUriChars} characters`;
  }
  if (!legible.test(uri)) return 'a redirect URI has only visible ASCII characters, and no backslash';
  if (uri.includes('#')) return 'a redirect URI has no fragment';
  const written = authority.exec(uri);
  if (written === null) return 'a redirect URI is an https:// address, or an http:// one on loopback';
  const [, scheme = '', host = '', port] = written;
  if (port !== undefined && Number(port) > 65_535) return 'a port is at most 65535';
  if (!URL.canParse(uri)) return 'a redirect URI is a valid address';
  if (scheme.toLowerCase() === 'https') return undefined;
  if (loopbackNames.includes(host.toLowerCase())) return undefined;
  return 'http:// is allowed only for localhost, 127.0.0.1 and [::1]; other hosts need https://';
}

function redirectsFault(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0) return 'at least one redirect URI is needed';
  if (uris.length > authServerLimits.redirectUris) return `at most ${authServerLimits.redirectUris} redirect URIs`;
  return uris.map(redirectFault).find((fault) => fault !== undefined);
}

/** Any program on the person's computer can listen there. */
export function isOnThisComputer(uri: string): boolean {
  return URL.canParse(uri) && loopbackNames.includes(new URL(uri).hostname);
}

/** RFC 8252, 7.3: a native client uses any free port, so the port is not compared. */
function isNative(uris: readonly string[]): boolean {
  const onThisComputer = uris.filter(isOnThisComputer);
  return onThisComputer.length > 0 && onThisComputer.every((uri) => uri.toLowerCase().startsWith('http:'));
}
