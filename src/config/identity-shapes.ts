/** The shape of `identity` in a file, at the top and at an endpoint. */
import * as z from 'zod';
import { scopeToken } from '../identity/key-file.ts';
import { algorithms } from '../identity/settings.ts';
import { issuerAddress, safeAddress } from './address-shapes.ts';
import { authServerShape } from './authserver.ts';
import * as shape from './shapes.ts';

const publicUrl = shape.textAs(
  'scheme, host and port, such as https://mcp.example.com: the paths are those of the endpoints',
  (text) =>
    /^https?:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?\/?$/i.test(text)
      ? shape.parseUrl(text)?.origin
      : undefined,
);

const scope = shape
  .text('a scope: visible characters without spaces, quotes and backslashes', scopeToken)
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#refresh-tokens
  .refine((text) => text !== 'offline_access', {
    error: 'a scope other than `offline_access`, which only the client and the issuer use',
  });
export const scopeList = z.array(scope, { error: 'a list of scopes' });
const scopeMap = z.record(z.string(), scopeList, { error: 'a map of lists of scopes' });

const taken: ReadonlySet<string> = new Set([...shape.gatewayHeaders, 'authorization', 'cookie', 'host', 'origin']);
const keyHeader = shape.textAs('the name of a header that has no other meaning, such as x-access-key', (text) => {
  const name = text.toLowerCase();
  const isFree = shape.headerToken.test(name) && !taken.has(name) && !name.startsWith('mcp-');
  return isFree ? name : undefined;
});

/** Tokens are never accepted in a query, and `sessionId` belongs to the HTTP+SSE transport. */
const keyQuery = shape.text(
  'the name of a parameter that has no other meaning, such as key',
  (name) => /^[A-Za-z0-9._~-]+$/.test(name) && !['access_token', 'sessionId'].includes(name),
);

/** RFC 6749, appendix A.1 and A.2. */
export const visible = shape.text('visible characters', /^[\x20-\x7e]+$/);

/** Machines with synchronized clocks agree within this. */
const CLOCK_TOLERANCE_MS = 30_000;
/** Clocks drift by seconds; a token that is minutes late has expired. */
const clockTolerance = { unit: 'ms', min: 0, max: 300_000 } as const;

const issuer = shape.once(() =>
  shape.closed('a map with `issuer`', {
    issuer: issuerAddress,
    jwksUri: safeAddress.exactOptional(),
    algorithms: shape.someOf(shape.choice(algorithms), 'algorithms', 'algorithm').default([...algorithms]),
    clockToleranceMs: shape.quantity(clockTolerance).default(CLOCK_TOLERANCE_MS),
    audienceCheckedByVerifier: shape.flag.default(false),
    introspection: shape
      .closed('a map with `url`, `clientId` and `clientSecret`', {
        url: safeAddress,
        clientId: visible,
        clientSecret: visible,
      })
      .exactOptional(),
    signIn: shape
      .closed('a map with `clientId`', { clientId: visible, clientSecret: visible.exactOptional() })
      .exactOptional(),
  }),
);

const scopeRules = {
  required: scopeList.exactOptional(),
  methods: scopeMap.exactOptional(),
  tools: scopeMap.exactOptional(),
};
const audience = shape.text('an audience, spelled as in tokens', /^[\x21-\x7e]+$/);
const common = {
  audiences: z.array(audience, { error: 'a list of audiences' }).exactOptional(),
  style: shape.choice(['challenge', 'envelope']).exactOptional(),
};

export const identityShape = shape.once(() =>
  shape.closed('`none`, or a map with `keys`, `issuers` or `authServer`', {
    publicUrl: publicUrl.exactOptional(),
    keys: shape
      .closed('a map with `file`', {
        file: shape.oneLine,
        header: keyHeader.exactOptional(),
        query: keyQuery.exactOptional(),
      })
      .exactOptional(),
    issuers: shape.someOf(issuer(), 'issuers', 'issuer').exactOptional(),
    authServer: authServerShape.exactOptional(),
    scopes: shape.closed('a map of settings', { ...scopeRules, implies: scopeMap.exactOptional() }).exactOptional(),
    local: shape.closed('a map with `scopes`', { scopes: scopeList.exactOptional() }).exactOptional(),
    ...common,
  }),
);
export type IdentityDraft = z.infer<ReturnType<typeof identityShape>>;
export type IssuerDraft = z.infer<ReturnType<typeof issuer>>;

export const endpointIdentityShape = shape.once(() =>
  shape.closed('`none`, or a map of settings', {
    accept: z
      .array(shape.choice(['keys', 'tokens']), { error: 'a list of keys and tokens' })
      .min(1, { error: 'keys, tokens or both; for an open endpoint, `identity: none`' })
      .exactOptional(),
    keys: shape
      .closed('a map of settings', { header: keyHeader.exactOptional(), query: keyQuery.exactOptional() })
      .exactOptional(),
    scopes: shape.closed('a map of settings', scopeRules).exactOptional(),
    ...common,
  }),
);
export type EndpointIdentityDraft = z.infer<ReturnType<typeof endpointIdentityShape>>;
