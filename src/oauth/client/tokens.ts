/** Tokens as stored: with their server and client, and with the requested scopes. */
import * as z from 'zod';
import type { Records } from '../../store/ports.ts';
import { TypedRecords } from '../typed-records.ts';
import { clientShape } from './client.ts';
import { credentialLimits } from './limits.ts';
import { serverShape } from './server-metadata.ts';
import type { Granted } from './token-endpoint.ts';

const accessShape = z.object({
  token: z.string(),
  /** Milliseconds since 1970, like all times here. */
  at: z.number(),
  endsAt: z.number().optional(),
  /** Whether it came from a refresh rather than a grant. */
  refreshed: z.boolean(),
});

const tokensShape = z.object({
  /** The issuer of the tokens. They are sent to no other server. */
  server: serverShape,
  client: clientShape,
  resource: z.string(),
  /** All scopes ever requested, so that a step-up does not lose them. Stays when the tokens are deleted. */
  asked: z.array(z.string()),
  granted: z.array(z.string()).optional(),
  access: accessShape.optional(),
  refresh: z.string().optional(),
  /** For tokens derived from a caller's token: they are deleted at this time, even with a refresh token. */
  until: z.number().optional(),
});

export type StoredTokens = z.infer<typeof tokensShape>;
export type Access = z.infer<typeof accessShape>;

/** By account: backend, its URL, and the principal. */
export type TokenShelf = TypedRecords<StoredTokens>;

export function tokenShelf(records: Records): TokenShelf {
  return new TypedRecords(records, 'oauth-tokens', tokensShape);
}

interface TokenOrigin extends Pick<StoredTokens, 'server' | 'client' | 'resource' | 'until'> {
  readonly asked: readonly string[];
}

export function tokensOf(
  granted: Granted,
  { server, client, resource, asked, until }: TokenOrigin,
  now: number,
): StoredTokens {
  const origin = { server, client, resource, asked: [...asked], ...(until === undefined ? {} : { until }) };
  return { ...origin, ...obtained(granted, now, false) };
}

/** RFC 6749, 6: the old refresh token stays valid if the response has no new one. */
export function refreshedTokens(old: StoredTokens, granted: Granted, now: number): StoredTokens {
  return { ...old, ...obtained(granted, now, true) };
}

export function withoutTokens({ access: _access, refresh: _refresh, ...rest }: StoredTokens): StoredTokens {
  return rest;
}

function obtained({ accessToken: token, lifetimeMs, scopes, refreshToken }: Granted, now: number, refreshed: boolean) {
  return {
    access: { token, at: now, refreshed, ...(lifetimeMs === undefined ? {} : { endsAt: now + lifetimeMs }) },
    ...(scopes === undefined ? {} : { granted: [...scopes] }),
    ...(refreshToken === undefined ? {} : { refresh: refreshToken }),
  };
}

/** Whether to use it. `hard`: use it until its very end, because there is no other. */
export function isFresh({ at, endsAt }: Access, now: number, hard = false): boolean {
  if (endsAt === undefined) return true;
  const share = (endsAt - at) * credentialLimits.expiryMarginShare;
  return now < endsAt - (hard ? 0 : Math.min(credentialLimits.expiryMarginMs, share));
}

/** When the record ends. Without a refresh token, it ends with the access token. */
export function endOf({ access, refresh, until }: StoredTokens): number | undefined {
  const end = refresh === undefined ? access?.endsAt : undefined;
  return end === undefined || until === undefined ? (end ?? until) : Math.min(end, until);
}
