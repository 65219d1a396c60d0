/** The bundled authorization server. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayAuthServer = {
  'gateway:authserver:flow': held({
    spec: '2026-07-28/basic/authorization#authorization-flow-steps',
    behaviour:
      'A client that knows only an address discovers the server, registers, gets consent and a token, and is authenticated.',
  }),
  'gateway:authserver:kit': held({
    spec: 'sdk',
    behaviour: 'Every scenario of the official kit for authorization servers passes against it.',
  }),
  'gateway:authserver:metadata': held({
    spec: '2026-07-28/basic/authorization/authorization-server-discovery',
    behaviour: 'Its metadata names the issuer, only S256, `iss` in responses, and only features that exist.',
  }),
  'gateway:authserver:audience': held({
    spec: '2026-07-28/basic/authorization#resource-parameter-implementation',
    behaviour: 'A token is for exactly the endpoint that was asked for, or the first one; other resources are refused.',
  }),
  'gateway:authserver:consent': held({
    spec: '2026-07-28/basic/authorization/client-registration',
    behaviour: 'Consent names the client, the host of the redirect, the scopes and the user, and warns of localhost.',
  }),
  'gateway:authserver:refresh': held({
    spec: '2026-07-28/basic/authorization#refresh-tokens',
    behaviour: 'Refresh tokens rotate and keep audience and scope; one that comes back a second time ends the grant.',
  }),
  'gateway:authserver:metadata-documents': held({
    spec: '2026-07-28/basic/authorization/client-registration#client-id-metadata-documents',
    behaviour: 'A client may be the https address of a document about it, fetched with guards and kept within bounds.',
  }),
  'gateway:authserver:durable': held({
    spec: 'gateway',
    behaviour: 'A restart in the middle of a flow, or between login and refresh, loses nothing.',
  }),
  'gateway:authserver:sign-in': held({
    spec: 'gateway',
    behaviour:
      'Names and passwords come from a file that is read again when it changes; wrong ones are delayed, and the answer does not say which part was wrong.',
  }),
  'gateway:authserver:pages': held({
    spec: 'gateway',
    behaviour:
      'Its pages have no scripts, cannot be framed, accept no form from another origin, and work in a real browser.',
  }),
  'gateway:authserver:hostile': held({
    spec: 'gateway',
    behaviour: 'Fuzzed redirects, codes, states and metadata get a named error, never a 5xx, and never a token.',
  }),
  'gateway:authserver:bounded': held({
    spec: 'gateway',
    behaviour: 'Registrations and documents are bounded per address and in all; unused registrations end.',
  }),
  'gateway:authserver:flood': held({
    spec: 'gateway',
    behaviour:
      'When open sign-ins or unused clients reach their limit, the oldest of the network or user that holds most are removed, and no others.',
  }),
  'gateway:authserver:secrets': held({
    spec: 'gateway',
    behaviour: 'Tokens, codes, secrets and passwords are in no log, and not in the clear on disk.',
  }),
  'gateway:authserver:off': held({
    spec: 'gateway',
    behaviour: 'Without its block in the config nothing of it is served or loaded.',
  }),
  'gateway:authserver:users': held({
    spec: 'gateway',
    behaviour: 'Users are added, listed, changed and removed by a command that never takes a password as an argument.',
  }),
  'gateway:authserver:recipe': held({
    spec: 'gateway',
    behaviour: 'The steps of its documentation work as they are written.',
  }),
  'gateway:authserver:company': held({
    spec: 'gateway',
    behaviour:
      'People sign in at a configured OpenID provider. Before a client leads them there, a page names the client, its redirect and its scopes. Their principal is issuer and subject. A refresh asks the provider whether they are still known, or ends after 12 hours.',
  }),
} satisfies Record<string, Requirement>;
