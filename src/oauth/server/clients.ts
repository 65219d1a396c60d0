/** What a client may say of itself, at registration and in a metadata document alike. */
import { authServerLimits } from './limits.ts';
import { isNative, redirectsFault } from './redirects.ts';

/** As it came in, with the library's defaults filled in. It may be changed: RFC 7591, 3.2.1 lets the server substitute. */
export type ClientMetadata = Record<string, unknown>;

/** Refresh tokens and codes are all there is to get here; other grants would be for another server. */
const grants: ReadonlySet<unknown> = new Set(['authorization_code', 'refresh_token']);

/** Undefined where it is good, and made ready; what is wrong with it where not. */
export function settleMetadata(metadata: ClientMetadata, scopes: readonly string[]): string | undefined {
  const fault = redirectsFault(metadata.redirect_uris) ?? nameFault(metadata.client_name);
  if (fault !== undefined) return fault;
  const uris = metadata.redirect_uris as readonly string[];
  // Clients hardly ever say it, and when they do not, a native one is meant as often as not.
  metadata.application_type = isNative(uris) ? 'native' : 'web';
  // Everybody may ask for everything, step by step as it is needed; whether it is given is for a person to say. What a
  // client named at registration is only what it knew of then.
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
