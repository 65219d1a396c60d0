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
import { issuerAddress } from './address-shapes.ts';
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

const claimValues = z.union([shape.oneLine.transform((one) => [one]), shape.someOf(shape.oneLine, 'values', 'value')], {
  error: 'a value, or a list of values',
});
const providerScope = shape.text('a scope: visible characters without spaces, quotes and backslashes', scopeToken);

const providerShape = shape.closed('a map with `issuer` and `clientId`', {
  issuer: issuerAddress,
  clientId: shape.oneLine,
  clientSecret: shape.oneLine.exactOptional(),
  name: shape.oneLine.exactOptional(),
  scopes: z
    .array(providerScope, { error: 'a list of scopes' })
    .refine((scopes) => scopes.includes('openid'), { error: 'a list with `openid`' })
    .exactOptional(),
  parameters: z.record(shape.oneLine, shape.oneLine, { error: 'a map of parameters' }).default({}),
  groupsClaim: shape.oneLine.default('groups'),
  require: z.record(shape.oneLine, claimValues, { error: 'a map from claims to accepted values' }).default({}),
});

export const authServerShape = shape.closed('a map with `users` or `provider`', {
  users: shape.oneLine.exactOptional(),
  provider: providerShape.exactOptional(),
  scopes: z.record(scope, shape.oneLine, { error: 'a map from scopes to their descriptions' }).default({}),
  tokenTtlMs: shape.quantity(tokenTtl).default(TOKEN_TTL_MS),
  refreshTtlMs: shape.quantity(refreshTtl).default(REFRESH_TTL_MS),
  registration: shape.choice(['open', 'off']).default('open'),
  metadataDocuments: shape.flag.default(true),
  allowAddresses: z.array(address, { error: 'a list of addresses' }).default([]),
});

type AuthServerDraft = z.infer<typeof authServerShape>;

export function authServerIn(
  { users, provider, ...rest }: AuthServerDraft,
  directory: string,
  report: (complaint: Complaint) => void,
): AuthServerSettings {
  if ((users === undefined) === (provider === undefined)) {
    report({
      message: users === undefined ? 'there is no way to sign in' : 'people would sign in in two ways',
      expected:
        'either `users`, a file of users with passwords, or `provider`, an OpenID provider that people sign in at',
    });
  }
  return {
    ...(users !== undefined && { userFile: resolve(directory, users) }),
    ...(provider !== undefined && { company: { ...provider, name: provider.name ?? new URL(provider.issuer).host } }),
    ...rest,
  };
}

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
