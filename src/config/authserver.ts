/**
 * `identity.authServer`: the bundled authorization server. Its presence enables the server and makes its tokens
 * accepted.
 */
import * as z from 'zod';
import { isSafeAddress } from '../identity/documents.ts';
import { scopeToken } from '../identity/key-file.ts';
import { routeOf } from '../oauth/server/paths.ts';
import type { EndpointConfig } from './config.ts';
import type { Complaint, ConfigDocument } from './document.ts';
import { isRange } from './listen.ts';
import * as shape from './shapes.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** An access token cannot be revoked: a removed user or client has access until it expires. */
const tokenTtl = { unit: 'ms', min: MINUTE, max: DAY } as const;
/** Long enough that few calls meet the expiry, short enough to wait for it after a revocation. */
const TOKEN_TTL_MS = 15 * MINUTE;
/** How long a client stays connected before the person must consent again. */
const refreshTtl = { unit: 'ms', min: 10 * MINUTE, max: 365 * DAY } as const;
const REFRESH_TTL_MS = 30 * DAY;

const scope = shape.text('a scope: visible characters without spaces, quotes and backslashes', scopeToken);
const address = shape.text(
  'a host name or a CIDR range, such as clients.internal or 10.1.0.0/16',
  (text) => isRange(text) || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text),
);

export const authServerShape = shape.closed('a map with `users`', {
  users: shape.oneLine,
  scopes: z.record(scope, shape.oneLine, { error: 'a map from scopes to their descriptions' }).default({}),
  tokenTtlMs: shape.quantity(tokenTtl).default(TOKEN_TTL_MS),
  refreshTtlMs: shape.quantity(refreshTtl).default(REFRESH_TTL_MS),
  registration: shape.choice(['open', 'off']).default('open'),
  metadataDocuments: shape.flag.default(true),
  allowAddresses: z.array(address, { error: 'a list of addresses' }).default([]),
});

/** OAuth 2.1, 1.5 requires TLS: passwords, codes and tokens cross the network here. Reported at `identity`. */
export function authServerFault(publicUrl: string): Complaint | undefined {
  if (isSafeAddress(publicUrl)) return undefined;
  return {
    message: 'passwords would be sent over plain http',
    expected: 'an https:// `publicUrl`; http:// is allowed only on this machine',
  };
}

export function checkOwnPaths(document: ConfigDocument, endpoints: readonly EndpointConfig[]): void {
  endpoints.forEach(({ path }, at) => {
    if (routeOf(path) === undefined) return;
    const message = 'the bundled authorization server uses this path';
    document.report(['endpoints', at, 'path'], { message, expected: 'a path that does not begin with /oauth' });
  });
}
