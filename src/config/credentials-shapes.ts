/** The shape of a backend's `auth` in a file. */
import * as z from 'zod';
import { isSafeAddress } from '../identity/documents.ts';
import { isSigningKey } from '../oauth/client/client-proof.ts';
import { grants, subjectTokenTypes } from '../oauth/client/settings.ts';
import { issuerAddress, scopeList, visible } from './identity-shapes.ts';
import * as shape from './shapes.ts';

const aKey = `a private key in PEM that signs (RSA, EC or Ed25519), best as \`\${file:/path}\``;
const privateKey = z.string({ error: aKey }).refine(isSigningKey, { error: aKey });

/**
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#implementation-requirements
 */
const aDocument = 'the https:// address of a client-ID metadata document, with a path';
const clientMetadataUrl = z.string({ error: aDocument }).refine(
  (text) => {
    const url = shape.parseUrl(text);
    return url?.protocol === 'https:' && url.pathname !== '/' && url.hash === '' && url.username === '';
  },
  { error: aDocument },
);

const aServer =
  'the origin of an authorization server, such as https://login.internal or http://127.0.0.1:9000 (`:*`: any port)';
const aHost = 'an origin whose host is written out: `*` stands for a port alone, so list each host on its own';
const server = z
  .string({ error: aServer })
  .regex(/^https?:\/\/[^/?#@\s]+\/?$/i, { error: aServer })
  .transform((text, context) => {
    const [, address = text, anyPort = ''] = /^(.*)(:\*)\/?$/.exec(text) ?? [];
    if (address.includes('*')) {
      context.addIssue({ code: 'custom', message: aHost });
      return z.NEVER;
    }
    if (isSafeAddress(address)) return `${new URL(address).origin}${anyPort}`;
    context.addIssue({ code: 'custom', message: aServer });
    return z.NEVER;
  });

/** RFC 8707, 2. */
const resource = shape.httpAddress.refine((text) => !text.includes('#'), { error: 'an address without #' });

export const backendAuthShape = shape.closed('a map with `type`', {
  type: shape.choice(['oauth']),
  grant: shape.choice(grants).optional(),
  clientId: visible.optional(),
  clientSecret: visible.optional(),
  privateKey: privateKey.optional(),
  clientMetadataUrl: clientMetadataUrl.optional(),
  scopes: scopeList.optional(),
  issuer: issuerAddress.optional(),
  authorizationServers: z.array(server, { error: 'a list of origins' }).optional(),
  resource: resource.optional(),
  audience: visible.optional(),
  identityProvider: shape
    .closed('a map with `issuer` and `clientId`', {
      issuer: issuerAddress,
      clientId: visible,
      clientSecret: visible.optional(),
      subjectTokenType: shape.choice(subjectTokenTypes).optional(),
    })
    .optional(),
  shared: shape.flag.optional(),
});
export type BackendAuthDraft = z.infer<typeof backendAuthShape>;
