/** Who is calling, and how the gateway authorises itself at backends. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const auth = {
  'client-auth:401-after-auth-throws': held({
    spec: 'sdk',
    behaviour:
      'A backend that refuses a token fresh from its authorization server fails the call; there is no second round.',
  }),
  'client-auth:401-triggers-flow': held({
    spec: '2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements',
    behaviour: 'A 401 of a backend starts one authorization, however many calls meet it.',
  }),
  'client-auth:403-scope-upgrade': held({
    spec: '2025-11-25/basic/authorization#step-up-authorization-flow',
    behaviour: 'A 403 that names a scope starts one step-up, and never a loop.',
  }),
  'client-auth:403-scope-union': held({
    spec: '2025-11-25/basic/authorization#step-up-authorization-flow',
    behaviour: 'A step-up requests the scopes that the token had and those that the backend demands.',
  }),
  'client-auth:as-metadata-discovery:priority-order': held({
    spec: '2025-11-25/basic/authorization#authorization-server-metadata-discovery',
    behaviour: 'Metadata of an authorization server is looked for in the prescribed order of places.',
  }),
  'client-auth:as-metadata-discovery:issuer-validation': held({
    spec: '2025-11-25/basic/authorization#authorization-server-metadata-discovery',
    behaviour: 'Metadata that names another issuer is refused.',
  }),
  'client-auth:authorize:error-surfaces': held({
    spec: '2025-11-25/basic/authorization#authorization-flow-steps',
    behaviour:
      'An error at the redirect ends the authorization before any token is asked for, and the page tells the user why.',
  }),
  'client-auth:authorize:offline-access-consent': held({
    spec: 'sdk',
    behaviour: 'Where `offline_access` is on offer it is asked for, with consent.',
  }),
  'client-auth:bearer-header:every-request': held({
    spec: '2025-11-25/basic/authorization#token-requirements',
    behaviour: 'The token for a backend is in the header of every request to it, never in a URL.',
  }),
  'client-auth:cimd': held({
    spec: '2025-11-25/basic/authorization#client-id-metadata-documents',
    behaviour: 'The gateway can present itself by the URL of a client metadata document.',
  }),
  'client-auth:client-credentials': held({
    spec: 'sdk',
    behaviour: 'A backend can be authorised with client credentials, without a user.',
  }),
  'client-auth:dcr:registration-error-surfaces': held({
    spec: 'sdk',
    behaviour: "A refused registration is reported with the server's own words.",
  }),
  'client-auth:dcr:substituted-metadata': held({
    spec: 'sdk',
    behaviour: 'Metadata that the server changed at registration is accepted where it is usable.',
  }),
  'client-auth:dcr': held({
    spec: '2025-11-25/basic/authorization#dynamic-client-registration',
    behaviour: 'Without a configured client the gateway registers itself.',
  }),
  'client-auth:as-binding': held({
    spec: '2026-07-28/basic/authorization/client-registration#authorization-server-binding',
    behaviour: 'Credentials belong to the issuer that gave them; another issuer means a new registration.',
  }),
  'client-auth:invalid-client-clears-all': held({
    spec: 'sdk',
    behaviour: '`invalid_client` makes the gateway forget registration and tokens.',
  }),
  'client-auth:invalid-grant-clears-tokens': held({
    spec: 'sdk',
    behaviour: '`invalid_grant` makes the gateway forget the tokens and keep the registration.',
  }),
  'client-auth:pkce:refuse-if-unsupported': held({
    spec: '2025-11-25/basic/authorization#authorization-code-protection',
    behaviour: 'An authorization server that does not advertise S256 is not used.',
  }),
  'client-auth:pkce:s256': held({
    spec: '2025-11-25/basic/authorization#authorization-code-protection',
    behaviour: 'The challenge is S256, and its verifier goes to the token endpoint.',
  }),
  'client-auth:pre-registration': held({
    spec: '2025-11-25/basic/authorization#preregistration',
    behaviour: 'Configured client credentials are used instead of a registration.',
  }),
  'client-auth:private-key-jwt': held({
    spec: 'sdk',
    behaviour: 'Client credentials can be proven with a signed assertion.',
  }),
  'client-auth:prm-discovery:fallback-order': held({
    spec: '2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements',
    behaviour: 'Resource metadata comes from the challenge first, then from the well-known places.',
  }),
  'client-auth:prm-discovery:no-prm-fallback': held({
    spec: 'sdk',
    behaviour: "Without resource metadata the backend's own origin is tried, as 2025-03-26 has it.",
  }),
  'client-auth:prm-resource-mismatch': held({
    spec: '2025-11-25/basic/authorization#authorization-server-location',
    behaviour: 'Resource metadata for another resource is refused.',
  }),
  'client-auth:refresh:transparent': held({
    spec: 'sdk',
    behaviour: 'An expired token is refreshed once for all calls that wait for it, and kept.',
  }),
  'client-auth:resource-parameter': held({
    spec: '2025-11-25/basic/authorization#resource-parameter-implementation',
    behaviour: 'Authorization and token requests name the backend as the resource.',
  }),
  'client-auth:scope-selection:priority': held({
    spec: '2025-11-25/basic/authorization#scope-selection-strategy',
    behaviour: 'Scopes come from the challenge, else from the resource metadata, else none is asked for.',
  }),
  'client-auth:state:verify': held({
    spec: '2025-11-25/basic/authorization#open-redirection',
    behaviour: 'A redirect without the state that was sent out is discarded.',
  }),
  'client-auth:authorization-response:iss-verify': held({
    spec: '2025-11-25/basic/authorization#authorization-server-metadata-discovery',
    behaviour: 'The issuer in the redirect is checked, and demanded where it was promised.',
  }),
  'client-auth:token-endpoint-auth-method': held({
    spec: 'sdk',
    behaviour: 'The token endpoint is addressed with the method of the registration.',
  }),
  'client-auth:token-provenance': held({
    spec: '2025-11-25/basic/authorization#token-handling',
    behaviour: "A backend gets only tokens of its own authorization server, and never the client's.",
  }),
  'client-auth:identity-assertion': held({
    spec: 'sdk',
    behaviour: 'An identity assertion can be exchanged for a token of the backend.',
  }),
  'client-auth:identity-assertion:assertion-callback': held({
    spec: 'sdk',
    behaviour: 'The assertion is made for the issuer and the resource at hand.',
  }),
  'client-auth:identity-assertion:issuer-pinning': held({
    spec: 'sdk',
    behaviour: 'With assertions the issuer is configured, and secrets go out only after its metadata is checked.',
  }),
  'client-auth:identity-assertion:disabled-rejected': held({
    spec: 'sdk',
    behaviour: 'The bundled authorization server refuses assertions where they are switched off.',
  }),
  'client-auth:identity-assertion:invalid-assertion': held({
    spec: 'sdk',
    behaviour: 'A refused assertion is reported as what it is, and the backend stays unavailable.',
  }),
  'client-auth:identity-assertion:metadata-advertised': held({
    spec: 'sdk',
    behaviour: 'The bundled authorization server advertises the grants that it has.',
  }),
  'hosting:auth:as-router': held({
    spec: 'sdk',
    behaviour:
      'The bundled authorization server has its endpoints for authorization, tokens, registration and revocation.',
  }),
  'hosting:auth:aud-validation': held({
    spec: '2025-11-25/basic/authorization#access-token-usage',
    behaviour: 'A token for another audience, or for none, is refused.',
  }),
  'hosting:auth:authinfo-propagates': held({
    spec: 'sdk',
    behaviour: 'What a token says about its bearer is known to policy and audit.',
  }),
  'hosting:auth:expired-401': held({
    spec: '2025-11-25/basic/authorization#token-handling',
    behaviour: 'An expired token is answered 401 `invalid_token`.',
  }),
  'hosting:auth:invalid-401': held({
    spec: '2025-11-25/basic/authorization#token-handling',
    behaviour: 'A token that cannot be verified is answered 401 with a challenge.',
  }),
  'hosting:auth:metadata-endpoints': held({
    spec: '2025-11-25/basic/authorization#authorization-server-location',
    behaviour: 'Protected-resource metadata is published where clients look for it.',
  }),
  'hosting:auth:missing-401': held({
    spec: '2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements',
    behaviour: 'A request without credentials is answered 401, and the challenge names the metadata.',
  }),
  'hosting:auth:prm:authorization-servers-field': held({
    spec: '2025-11-25/basic/authorization#authorization-server-location',
    behaviour: 'The metadata names at least one authorization server.',
  }),
  'hosting:auth:query-token-ignored': held({
    spec: 'sdk',
    behaviour: 'A token in the query string counts for nothing.',
  }),
  'hosting:auth:scope-403': held({
    spec: '2025-11-25/basic/authorization#runtime-insufficient-scope-errors',
    behaviour: 'A token without the needed scope is answered 403 `insufficient_scope`, naming the scope.',
  }),
  'hosting:auth:as:authorize-requires-pkce': held({
    spec: '2025-11-25/basic/authorization#authorization-code-protection',
    behaviour: 'The bundled authorization server refuses an authorization without a challenge.',
  }),
  'hosting:auth:as:verifier-mismatch': held({
    spec: '2025-11-25/basic/authorization#authorization-code-protection',
    behaviour: 'It refuses a code with the wrong verifier.',
  }),
  'hosting:auth:as:code-single-use': held({
    spec: 'sdk',
    behaviour: 'It accepts a code once.',
  }),
  'hosting:auth:as:redirect-uri-binding': held({
    spec: '2025-11-25/basic/authorization#open-redirection',
    behaviour: 'It redirects only to what was registered, and refuses anything else without redirecting.',
  }),
  'hosting:auth:as:redirect-uri-scheme': held({
    spec: '2025-11-25/basic/authorization#communication-security',
    behaviour: 'It registers redirect URIs only over HTTPS or on loopback.',
  }),
  'hosting:auth:as:token-cache-headers': held({
    spec: 'sdk',
    behaviour: 'Its token answers may not be stored by caches.',
  }),
  'hosting:auth:as:register-echo': held({
    spec: 'sdk',
    behaviour: 'Its answer to a registration repeats all that was registered.',
  }),
  'hosting:auth:as:register-error-response': held({
    spec: 'sdk',
    behaviour: 'It refuses bad client metadata with the error body of RFC 7591.',
  }),
} satisfies Record<string, Requirement>;
