/** Validates client metadata, at registration and in client ID metadata documents alike. */
import { authServerLimits } from './limits.ts';
import { isNative, redirectsFault } from './redirects.ts';

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
