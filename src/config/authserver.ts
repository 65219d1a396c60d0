/**
 * `identity.authServer`: the bundled authorization server. Its presence enables the server and makes its tokens
 * accepted.
 */
import { resolve } from 'node:path';
import * as z from 'zod';
import { isSafeAddress } from '../identity/documents.ts';
import { scopeToken } from '../identity/key-file.ts';
import { routeOf } from '../oauth/server/paths.ts';
import type { AuthServerSettings } from '../oauth/server/settings.ts';
import type { EndpointConfig } from './config.ts';
import type { Complaint, ConfigDocument } from './document.ts';
import { isRange } from './listen.ts';
import * as shape from './shapes.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** An access token cannot be revoked: a removed user or client has access until it expires. */
const tokenTtl = { unit: 'ms', min: MINUTE, max: DAY } as const;
const refreshTtl = { unit: 'ms', min: 10 * MINUTE, max: 365 * DAY } as const;

const aScope = 'a scope: visible characters without spaces, quotes and backslashes';
const anAddress = 'a host name or a CIDR range, such as clients.internal or 10.1.0.0/16';

function isHostOrRange(text: string): boolean {
  return isRange(text) || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text);
}

export const authServerShape = shape.closed('a map with `users`', {
  users: shape.oneLine,
  scopes: z
    .record(z.string().regex(scopeToken, { error: aScope }), shape.oneLine, {
      error: 'a map of scopes, with what each of them means in words',
    })
    .optional(),
  tokenTtlMs: shape.quantity(tokenTtl).optional(),
  refreshTtlMs: shape.quantity(refreshTtl).optional(),
  registration: shape.choice(['open', 'off']).optional(),
  metadataDocuments: shape.flag.optional(),
  allowAddresses: z
    .array(z.string({ error: anAddress }).refine(isHostOrRange, { error: anAddress }), {
      error: 'a list of addresses',
    })
    .optional(),
});
export type AuthServerDraft = z.infer<typeof authServerShape>;

/** Long enough that few calls meet the expiry, short enough to wait for it after a revocation. */
const TOKEN_TTL_MS = 15 * MINUTE;
/** How long a client stays connected before the person must consent again. */
const REFRESH_TTL_MS = 30 * DAY;

export function authServerSettings(draft: AuthServerDraft, directory: string): AuthServerSettings {
  return {
    userFile: resolve(directory, draft.users),
    scopes: draft.scopes ?? {},
    tokenTtlMs: draft.tokenTtlMs ?? TOKEN_TTL_MS,
    refreshTtlMs: draft.refreshTtlMs ?? REFRESH_TTL_MS,
    registration: draft.registration ?? 'open',
    metadataDocuments: draft.metadataDocuments ?? true,
    allowAddresses: draft.allowAddresses ?? [],
  };
}

/** OAuth 2.1, 1.5 requires TLS: passwords, codes and tokens cross the network here. Reported at `identity`. */
export function authServerFault(publicUrl: string): Complaint | undefined {
  if (isSafeAddress(publicUrl)) return undefined;
  return {
    message: 'people would send their passwords over plain http',
    expected: 'an https:// `publicUrl`; http:// is for this machine alone',
  };
}

export function checkOwnPaths(document: ConfigDocument, endpoints: readonly EndpointConfig[]): void {
  endpoints.forEach(({ path }, at) => {
    if (routeOf(path) === undefined) return;
    const message = 'the authorization server has this path';
    document.report(['endpoints', at, 'path'], { message, expected: 'a path that does not begin with /oauth' });
  });
}
