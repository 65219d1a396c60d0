/** Tokens as they are kept: with whom they are of, and what was asked for. */
import * as z from 'zod';
import type { Records } from '../../store/ports.ts';
import { clientShape, type OAuthClient } from './client.ts';
import type { CredentialHeaders } from './credential-provider.ts';
import { credentialLimits } from './limits.ts';
import { type ServerMetadata, serverShape } from './server-metadata.ts';
import type { Granted } from './token-endpoint.ts';
import { TypedRecords } from './typed-records.ts';

const accessShape = z.object({
  token: z.string(),
  /** Milliseconds since 1970, as everywhere here. */
  at: z.number(),
  endsAt: z.number().optional(),
  /** Whether a refresh brought it, or a grant. */
  refreshed: z.boolean(),
});

const tokensShape = z.object({
  /** Of whom they are: they are shown to no other. */
  server: serverShape,
  client: clientShape,
  resource: z.string(),
  /** All that was ever asked for, so that a step-up does not lose it. Stays when the tokens go. */
  asked: z.array(z.string()),
  granted: z.array(z.string()).optional(),
  access: accessShape.optional(),
  refresh: z.string().optional(),
  /** Of what was made of a caller's token: they are kept no longer, whatever could renew them. */
  until: z.number().optional(),
});

export type StoredTokens = z.infer<typeof tokensShape>;
export type Access = z.infer<typeof accessShape>;

/** By account: backend, its address, and who it is for. */
export type TokenShelf = TypedRecords<StoredTokens>;

export function tokenShelf(records: Records): TokenShelf {
  return new TypedRecords(records, 'oauth-tokens', tokensShape);
}

export interface TokenOrigin {
  readonly server: ServerMetadata;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly asked: readonly string[];
  readonly until?: number | undefined;
}

export function tokensOf(
  granted: Granted,
  { server, client, resource, asked, until }: TokenOrigin,
  now: number,
): StoredTokens {
  return {
    server,
    client,
    resource,
    asked: [...asked],
    ...(granted.scopes === undefined ? {} : { granted: [...granted.scopes] }),
    access: accessOf(granted, now, false),
    ...(granted.refreshToken === undefined ? {} : { refresh: granted.refreshToken }),
    ...(until === undefined ? {} : { until }),
  };
}

/** RFC 6749, 6: the old refresh token goes on where no new one came. */
export function refreshedTokens(old: StoredTokens, granted: Granted, now: number): StoredTokens {
  return {
    ...old,
    ...(granted.scopes === undefined ? {} : { granted: [...granted.scopes] }),
    access: accessOf(granted, now, true),
    ...(granted.refreshToken === undefined ? {} : { refresh: granted.refreshToken }),
  };
}

export function withoutTokens({ access: _access, refresh: _refresh, ...rest }: StoredTokens): StoredTokens {
  return rest;
}

function accessOf({ accessToken: token, lifetimeMs }: Granted, now: number, refreshed: boolean): Access {
  return { token, at: now, refreshed, ...(lifetimeMs === undefined ? {} : { endsAt: now + lifetimeMs }) };
}

/** Whether it is worth presenting. `hard`: also when it is about to end, because there is nothing better. */
export function isFresh({ at, endsAt }: Access, now: number, hard = false): boolean {
  if (endsAt === undefined) return true;
  const share = (endsAt - at) * credentialLimits.expiryMarginShare;
  return now < endsAt - (hard ? 0 : Math.min(credentialLimits.expiryMarginMs, share));
}

export function headersOf({ token }: Access): CredentialHeaders {
  return Object.freeze({ authorization: `Bearer ${token}` });
}

/** With nothing to renew them, they are of no use after their end. */
export function endOf({ access, refresh, until }: StoredTokens): number | undefined {
  const end = refresh === undefined ? access?.endsAt : undefined;
  return end === undefined || until === undefined ? (end ?? until) : Math.min(end, until);
}
