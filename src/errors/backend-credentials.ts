/** Failures in getting and using credentials for backends. */
import { INTERNAL, rows } from './row.ts';

export const credentials = rows(
  { blame: 'backend', status: 200, code: INTERNAL },
  {
    // Consent of a person.
    consent_needed: {
      blame: 'client',
      code: { legacy: -32042, modern: 401 },
      message: 'This backend needs your consent',
      when: 'The backend’s authorization server requires the consent of a person. Open `data.url` and send the request again. Clients that support URL elicitation are asked to open the page instead of getting this error.',
    },
    consent_unknown: {
      blame: 'client',
      status: 404,
      message: 'This link is unknown, was used already, or has expired',
      when: 'Send the request to the backend again: the error contains a new link.',
    },
    consent_refused: {
      blame: 'client',
      status: 403,
      code: 403,
      message: 'Consent was not given',
      when: 'The authorization server redirected the person back without granting access. Send the request to the backend again to start over.',
    },
    consent_invalid: {
      status: 400,
      message: 'The authorization server’s answer does not belong to this request',
      when: '`state` or `iss` in the redirect do not match this flow (RFC 9207), or a parameter is repeated. No code or token was sent to any server. Start over; if it happens again, stop: it may be an attack.',
    },
    consent_pending: {
      blame: 'client',
      message: 'Consent was not given in time',
      when: 'The link was not opened, or the consent was not completed, while the call waited. The link in `data.url` works until it expires.',
    },

    // The backend's response to our credentials.
    backend_unauthorized: {
      code: { legacy: INTERNAL, modern: 401 },
      message: 'The backend does not accept the gateway’s credentials',
      when: 'The backend refused, several times in a row, the token that its own authorization server issued. The gateway sends it no requests of this principal for a minute.',
    },
    backend_forbidden: {
      code: 403,
      message: 'The backend forbids this',
      when: 'The backend answers 403 although the token has all scopes that it asks for, or its authorization server does not grant those scopes.',
    },
    client_credential_refused: {
      blame: 'client',
      status: 401,
      code: 401,
      message: 'The backend does not accept the client’s credentials',
      when: 'The backend has `credentials: client`, and answers the `Authorization` of the client, or its absence, with 401 or 403. Status and `WWW-Authenticate` are the backend’s.',
    },

    // The backend's authorization server.
    authorization_undiscovered: {
      message: 'The backend’s authorization server cannot be found',
      when: 'The backend’s protected resource metadata is malformed, belongs to another resource, or names no authorization server that may be used. The message says which.',
    },
    authorization_untrusted: {
      message: 'The backend’s authorization server cannot be trusted',
      when: 'Its metadata has another issuer than expected, lacks PKCE with S256, or names addresses that the gateway does not connect to: plain http, this machine, or the internal network. The message says which. If you trust the server, add its origin to the backend’s `auth.authorizationServers`.',
    },
    authorization_unavailable: {
      message: 'The backend’s authorization server cannot be reached at the moment',
      when: 'The connection failed, no response came in time, or the status was 500 or above. Try again.',
    },
    authorization_refused: {
      message: 'The backend’s authorization server refused the request for a token',
      when: 'Its token endpoint responded with an error; `data.error` has the code (RFC 6749, 5.2).',
    },
    client_unregistered: {
      blame: 'gateway',
      message: 'The gateway is not a client of the backend’s authorization server',
      when: '`auth` has no `clientId`, and the authorization server supports neither client-ID metadata documents nor dynamic registration, or refused the gateway’s registration; or the `clientId` belongs to another issuer. The message says which.',
    },
    exchange_impossible: {
      blame: 'client',
      message: 'There is no token to exchange',
      when: '`grant: token_exchange` exchanges the token that the caller presented. Callers with an access key, and local callers, have none.',
    },
  },
);
