/** Failures in getting and using credentials for backends. */
import { type FailureRow, INTERNAL, row } from './row.ts';

export const credentials = {
  // Consent of a person.
  consent_needed: row(
    'client',
    200,
    { legacy: -32042, modern: 401 },
    'This backend needs your consent',
    'The backend’s authorization server wants a person to agree. Open `data.url` and call again; clients that can be asked for it are shown the address instead of this error.',
  ),
  consent_unknown: row(
    'client',
    404,
    INTERNAL,
    'This link is not known, was used already, or has ended',
    'Call the backend again: the error has a new link.',
  ),
  consent_refused: row(
    'client',
    403,
    403,
    'Consent was not given',
    'The authorization server sent the person back without leave. Call the backend again to begin anew.',
  ),
  consent_invalid: row(
    'backend',
    400,
    INTERNAL,
    'The authorization server’s answer does not belong to this request',
    '`state` or `iss` in the redirect are not those of the flow (RFC 9207), or a parameter came twice. Nothing was sent anywhere. Begin again; if it happens again, do not.',
  ),
  consent_pending: row(
    'client',
    200,
    INTERNAL,
    'Consent was not given in time',
    'Nobody opened the link, or nobody went through with it, while the call waited. The link in `data.url` goes on to work until it ends.',
  ),

  // The backend's response to our credentials.
  backend_unauthorized: row(
    'backend',
    200,
    { legacy: INTERNAL, modern: 401 },
    'The backend does not accept our credentials',
    'It refused what its own authorization server gave for it, several times in a row. It is left alone for a minute, for this principal alone.',
  ),
  backend_forbidden: row(
    'backend',
    200,
    403,
    'The backend forbids this',
    'A 403 that no further scope would change, or scopes that its authorization server keeps on not granting.',
  ),

  // The backend's authorization server.
  authorization_undiscovered: row(
    'backend',
    200,
    INTERNAL,
    'The backend’s authorization server cannot be found',
    'Its protected resource metadata is malformed, speaks of another resource, or names no server that may be used. The message says which.',
  ),
  authorization_untrusted: row(
    'backend',
    200,
    INTERNAL,
    'The backend’s authorization server cannot be trusted',
    'Its metadata names another issuer than it was asked for, no PKCE with S256, or addresses that must not be asked: http, on this machine or inside the network. The message says which. Name the origin in the backend’s `auth.authorizationServers` if it is meant.',
  ),
  authorization_unavailable: row(
    'backend',
    200,
    INTERNAL,
    'The backend’s authorization server cannot be reached at the moment',
    'No connection, no answer in time, or a status of 500 and above. Try again.',
  ),
  authorization_refused: row(
    'backend',
    200,
    INTERNAL,
    'The backend’s authorization server refuses us',
    'It answered a request for a token with an error; `data.error` has its code (RFC 6749, 5.2).',
  ),
  client_unregistered: row(
    'gateway',
    200,
    INTERNAL,
    'We are no client of the backend’s authorization server',
    'It takes neither client-ID metadata documents nor registrations, or refused ours, and `auth` has no `clientId`; or the `clientId` is of another issuer. The message says which.',
  ),
  exchange_impossible: row(
    'client',
    200,
    INTERNAL,
    'There is no token to exchange',
    '`grant: token_exchange` needs a caller who presented a token. Keys and local callers have none.',
  ),
} as const satisfies Record<string, FailureRow>;
