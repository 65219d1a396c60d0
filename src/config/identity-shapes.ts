/** The shape of `identity` in a file, at the top and at an endpoint. */
import * as z from 'zod';
import { isSafeAddress } from '../identity/documents.ts';
import { scopeToken } from '../identity/key-file.ts';
import { algorithms } from '../identity/settings.ts';
import { authServerShape } from './authserver.ts';
import { gatewayHeaders } from './backends.ts';
import * as shape from './shapes.ts';

const aSafeAddress = 'an https:// address, or an http:// one on this machine';
const safeAddress = z.string({ error: aSafeAddress }).refine(isSafeAddress, { error: aSafeAddress });

/** RFC 8414, 2: neither query nor fragment. Kept exactly as written, since issuers are compared as strings. */
const anIssuer = `${aSafeAddress}, without ? and #, exactly as its tokens spell it`;
export const issuerAddress = z
  .string({ error: anIssuer })
  .refine((text) => isSafeAddress(text) && !/[?#\s]/.test(text), { error: anIssuer });

const anOrigin = 'scheme, host and port, such as https://mcp.example.com: the paths are those of the endpoints';
const publicUrl = z
  .string({ error: anOrigin })
  .regex(/^https?:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?\/?$/i, { error: anOrigin })
  .refine((text) => shape.parseUrl(text) !== undefined, { error: anOrigin })
  .transform((text) => new URL(text).origin);

const aScope = 'a scope: visible characters without spaces, quotes and backslashes';
const scope = z
  .string({ error: aScope })
  .regex(scopeToken, { error: aScope })
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#refresh-tokens
  .refine((text) => text !== 'offline_access', { error: 'no `offline_access`: it is between client and issuer' });
export const scopeList = z.array(scope, { error: 'a list of scopes' });
const scopeMap = z.record(z.string(), scopeList, { error: 'a map of lists of scopes' });

const taken: ReadonlySet<string> = new Set([...gatewayHeaders, 'authorization', 'cookie', 'host', 'origin']);
const aHeader = 'the name of a header that has no other meaning, such as x-access-key';
const keyHeader = z
  .string({ error: aHeader })
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: aHeader })
  .transform((name) => name.toLowerCase())
  .refine((name) => !taken.has(name) && !name.startsWith('mcp-'), { error: aHeader });

/** Tokens are never accepted in a query, and `sessionId` belongs to the HTTP+SSE transport. */
const aParameter = 'the name of a parameter that has no other meaning, such as key';
const keyQuery = z
  .string({ error: aParameter })
  .regex(/^[A-Za-z0-9._~-]+$/, { error: aParameter })
  .refine((name) => !['access_token', 'sessionId'].includes(name), { error: aParameter });

/** RFC 6749, appendix A.1 and A.2. */
const aSecret = 'visible characters';
export const visible = z.string({ error: aSecret }).regex(/^[\x20-\x7e]+$/, { error: aSecret });

/** Clocks drift by seconds; a token that is minutes late has expired. */
const clockTolerance = { unit: 'ms', min: 0, max: 300_000 } as const;

const issuer = shape.closed('a map with `issuer`', {
  issuer: issuerAddress,
  jwksUri: safeAddress.optional(),
  algorithms: z
    .array(shape.choice(algorithms), { error: 'a list of algorithms' })
    .min(1, { error: 'at least one algorithm' })
    .optional(),
  clockToleranceMs: shape.quantity(clockTolerance).optional(),
  audienceCheckedByVerifier: shape.flag.optional(),
  introspection: shape
    .closed('a map with `url`, `clientId` and `clientSecret`', {
      url: safeAddress,
      clientId: visible,
      clientSecret: visible,
    })
    .optional(),
  signIn: shape.closed('a map with `clientId`', { clientId: visible, clientSecret: visible.optional() }).optional(),
});

const scopeRules = { required: scopeList.optional(), methods: scopeMap.optional(), tools: scopeMap.optional() };
const anAudience = 'an audience, as tokens spell it';
const common = {
  audiences: z
    .array(z.string({ error: anAudience }).regex(/^[\x21-\x7e]+$/, { error: anAudience }), {
      error: 'a list of audiences',
    })
    .optional(),
  style: shape.choice(['challenge', 'envelope']).optional(),
};

export const identityShape = shape.closed('`none`, or a map with `keys`, `issuers` or `authServer`', {
  publicUrl: publicUrl.optional(),
  keys: shape
    .closed('a map with `file`', {
      file: shape.oneLine,
      header: keyHeader.optional(),
      query: keyQuery.optional(),
    })
    .optional(),
  issuers: z.array(issuer, { error: 'a list of issuers' }).min(1, { error: 'at least one issuer' }).optional(),
  authServer: authServerShape.optional(),
  scopes: shape.closed('a map of settings', { ...scopeRules, implies: scopeMap.optional() }).optional(),
  local: shape.closed('a map with `scopes`', { scopes: scopeList.optional() }).optional(),
  ...common,
});
export type IdentityDraft = z.infer<typeof identityShape>;
export type IssuerDraft = z.infer<typeof issuer>;

export const credentialKinds = ['keys', 'tokens'] as const;

export const endpointIdentityShape = shape.closed('`none`, or a map of settings', {
  accept: z
    .array(shape.choice(credentialKinds), { error: 'a list of keys and tokens' })
    .min(1, { error: 'keys, tokens or both; an open endpoint says `identity: none`' })
    .optional(),
  keys: shape.closed('a map of settings', { header: keyHeader.optional(), query: keyQuery.optional() }).optional(),
  scopes: shape.closed('a map of settings', scopeRules).optional(),
  ...common,
});
export type EndpointIdentityDraft = z.infer<typeof endpointIdentityShape>;
