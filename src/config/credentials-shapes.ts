/** The shape of a backend's `auth` in a file. */
import * as z from 'zod';
import { isSafeAddress } from '../identity/documents.ts';
import { isSigningKey } from '../oauth/client/client-proof.ts';
import { grants, subjectTokenTypes } from '../oauth/client/settings.ts';
import { issuerAddress, scopeList, visible } from './identity-shapes.ts';
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

export const backendAuthShape = shape.closed('a map with `type`', {
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
export type BackendAuthDraft = z.infer<typeof backendAuthShape>;
