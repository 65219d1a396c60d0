/** How the gateway authenticates to a backend: `auth` beside its `url`. */
import * as z from 'zod';
import { isSafeAddress } from '../identity/documents.ts';
import { isSigningKey } from '../oauth/client/client-proof.ts';
import { type BackendAuth, type GrantType, grants, subjectTokenTypes } from '../oauth/client/settings.ts';
import { issuerAddress } from './address-shapes.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import { scopeList, visible } from './identity-shapes.ts';
import { check } from './issues.ts';
import * as shape from './shapes.ts';

const privateKey = shape.text(
  `a private key in PEM that signs (RSA, EC or Ed25519), best as \`\${file:/path}\``,
  isSigningKey,
);

/**
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#implementation-requirements
 */
const clientMetadataUrl = shape.text('the https:// address of a client-ID metadata document, with a path', (text) => {
  const url = shape.parseUrl(text);
  return url?.protocol === 'https:' && url.pathname !== '/' && url.hash === '' && url.username === '';
});

const aServer =
  'the origin of an authorization server, such as https://login.internal or http://127.0.0.1:9000 (`:*`: any port)';
const origin = /^(https?:\/\/[^/?#@\s]+?)(:\*)?\/?$/i;
const server = shape
  .text(aServer, origin)
  .refine((text) => !origin.exec(text)?.[1]?.includes('*'), {
    error: 'an origin whose host is written out: `*` stands for a port alone, so list each host on its own',
    abort: true,
  })
  .pipe(
    shape.textAs(aServer, (text) => {
      const [, address = '', anyPort = ''] = origin.exec(text) ?? [];
      return isSafeAddress(address) ? `${new URL(address).origin}${anyPort}` : undefined;
    }),
  );

/** RFC 8707, 2. */
const resource = shape.httpAddress.refine((text) => !text.includes('#'), { error: 'an address without #' });

const backendAuthShape = shape.closed('a map with `type`', {
  type: shape.choice(['oauth']),
  grant: shape.choice(grants).default('authorization_code'),
  clientId: visible.exactOptional(),
  clientSecret: visible.exactOptional(),
  privateKey: privateKey.exactOptional(),
  clientMetadataUrl: clientMetadataUrl.exactOptional(),
  scopes: scopeList.exactOptional(),
  issuer: issuerAddress.exactOptional(),
  authorizationServers: z.array(server, { error: 'a list of origins' }).exactOptional(),
  resource: resource.exactOptional(),
  audience: visible.exactOptional(),
  identityProvider: shape
    .closed('a map with `issuer` and `clientId`', {
      issuer: issuerAddress,
      clientId: visible,
      clientSecret: visible.exactOptional(),
      subjectTokenType: shape.choice(subjectTokenTypes).default('access_token'),
    })
    .exactOptional(),
  shared: shape.flag.default(false),
});
type BackendAuthDraft = z.infer<typeof backendAuthShape>;
type AuthKey = keyof BackendAuthDraft;

/** The keys that each grant requires. */
const needs: Readonly<Record<GrantType, readonly AuthKey[]>> = {
  authorization_code: [],
  client_credentials: ['clientId'],
  // The caller's token is sent to that server, so the backend must not choose it.
  token_exchange: ['issuer'],
  identity_assertion: ['issuer', 'clientId', 'identityProvider'],
};

/** Keys that apply to one grant only. */
const only: Readonly<Partial<Record<AuthKey, GrantType>>> = {
  audience: 'token_exchange',
  identityProvider: 'identity_assertion',
};

/** `path` is that of the key `auth`. Undefined if the key is absent, or invalid and reported. */
export function readBackendAuth(document: ConfigDocument, path: Path, variables: Variables): BackendAuth | undefined {
  const value = document.read(path, variables);
  if (value === undefined) return undefined;
  const draft = check(document, path, value, backendAuthShape);
  if (draft === undefined) return undefined;
  checkGrant(document, path, draft);
  checkClient(document, path, draft);
  checkHeaders(document, path);
  const { type: _type, ...auth } = draft;
  return auth;
}

function checkGrant(document: ConfigDocument, path: Path, draft: BackendAuthDraft): void {
  const { grant } = draft;
  for (const key of needs[grant]) {
    if (draft[key] !== undefined) continue;
    document.report([...path, key], {
      message: `\`${key}\` is missing`,
      expected: `\`${key}\`, which \`grant: ${grant}\` requires`,
    });
  }
  for (const [key, with_] of Object.entries(only)) {
    if (draft[key as AuthKey] === undefined || grant === with_) continue;
    document.reportMeaningless([...path, key], `with \`grant: ${with_}\``);
  }
  if (draft.shared === true && (grant === 'token_exchange' || grant === 'identity_assertion')) {
    const message = 'a token that is derived from one caller’s token cannot be shared with others';
    document.report([...path, 'shared'], { message, expected: '`shared` with another grant' });
  }
}

function checkClient(document: ConfigDocument, path: Path, draft: BackendAuthDraft): void {
  const { grant, clientId, clientSecret, privateKey, clientMetadataUrl } = draft;
  if (clientId === undefined) {
    for (const key of ['clientSecret', 'privateKey'] as const) {
      if (draft[key] !== undefined) document.reportMeaningless([...path, key], 'beside `clientId`');
    }
  } else if (clientMetadataUrl !== undefined) {
    document.reportMeaningless([...path, 'clientMetadataUrl'], 'without `clientId`');
  }
  if (clientSecret !== undefined && privateKey !== undefined) {
    const expected = 'one of them: a client authenticates in one way';
    document.reportKey([...path, 'privateKey'], { message: 'both `clientSecret` and `privateKey`', expected });
  }
  const cannotProve = clientId !== undefined && clientSecret === undefined && privateKey === undefined;
  if (grant === 'client_credentials' && cannotProve) {
    const expected = '`clientSecret` or `privateKey`: with this grant the client must authenticate';
    document.report(path, { message: 'neither `clientSecret` nor `privateKey`', expected });
  }
}

/** With two `Authorization` headers, it is undefined which one the backend reads. */
function checkHeaders(document: ConfigDocument, path: Path): void {
  const headers = [...path.slice(0, -1), 'headers'];
  for (const name of document.keys(headers) ?? []) {
    if (name.toLowerCase() !== 'authorization') continue;
    const message = 'both `auth` and an `Authorization` header';
    document.reportKey([...headers, name], { message, expected: 'one of them' });
  }
}
