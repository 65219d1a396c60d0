/**
 * Every failure that Bascule can name. One table: the boundary reads a row and knows the HTTP status, the JSON-RPC code
 * per era and who is to blame; programs match on `reason`, never on the message. `docs/errors.md` is written from here.
 */

/** Whose fault it is: decides the log level, and what a person should look at first. */
export type Blame = 'client' | 'backend' | 'gateway';

export interface FailureRow {
  readonly blame: Blame;
  /** HTTP status where the failure answers a POST. 200: told inside the exchange, so that clients which probe for the era are not disturbed. */
  readonly status: number;
  /** JSON-RPC error code towards legacy and modern clients. -32001, -32002 and -32042 must not reach a modern one. */
  readonly legacy: number;
  readonly modern: number;
  /** What a person reads. A failure may carry a more specific text, never one that repeats a secret or an exception. */
  readonly message: string;
  /** For the documentation: when this happens, and what to do. */
  readonly when: string;
}

const PARSE = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const SESSION_NOT_FOUND = -32001;
/** What servers in the wild say to legacy clients; the same number as above, and HTTP's status tells the two apart. */
const UNAUTHORIZED = { legacy: -32001, modern: 401 };
const RESOURCE_NOT_FOUND = -32002;
const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_VERSION = -32022;

function row(
  blame: Blame,
  status: number,
  code: number | { legacy: number; modern: number },
  message: string,
  when: string,
): FailureRow {
  const codes = typeof code === 'number' ? { legacy: code, modern: code } : code;
  return { blame, status, ...codes, message, when };
}

export const failures = {
  // What was sent cannot be read.
  parse_error: row('client', 400, PARSE, 'Parse error', 'The body is not JSON, or not UTF-8.'),
  invalid_request: row(
    'client',
    400,
    INVALID_REQUEST,
    'Invalid Request',
    'JSON, but no JSON-RPC 2.0 message: `id: null`, a fractional id, both result and error, an unknown shape.',
  ),
  ambiguous_json: row(
    'client',
    400,
    INVALID_REQUEST,
    'Ambiguous JSON',
    'Two members of one object have the same name (escaped twins count), or a string holds half a surrogate pair. Two readers could understand two things, so nobody reads it.',
  ),
  too_deep: row('client', 400, INVALID_REQUEST, 'Nested too deeply', 'Arrays and objects are nested beyond the limit.'),
  unsupported_mcp_batch: row(
    'client',
    400,
    INVALID_REQUEST,
    'Batches are not supported',
    'The body is a JSON array and the revision has no batches, or the profile denies them. No member is parsed.',
  ),
  invalid_batch: row(
    'client',
    400,
    INVALID_REQUEST,
    'Invalid batch',
    'An empty array, or one with `initialize` inside.',
  ),

  // HTTP refuses before the protocol begins.
  body_too_large: row('client', 413, INVALID_REQUEST, 'Body too large', 'The body is over the limit.'),
  headers_too_large: row('client', 431, INVALID_REQUEST, 'Headers too large', 'The headers are over the limit.'),
  request_timeout: row(
    'client',
    408,
    INVALID_REQUEST,
    'Request not received in time',
    'Headers or body came too slowly.',
  ),
  unsupported_media_type: row(
    'client',
    415,
    INVALID_REQUEST,
    'Content-Type must be application/json',
    'The body is declared as something else.',
  ),
  not_acceptable: row(
    'client',
    406,
    INVALID_REQUEST,
    'Not acceptable',
    '`Accept` names nothing that can be served here.',
  ),
  method_not_allowed: row(
    'client',
    405,
    INVALID_REQUEST,
    'Method not allowed',
    'The HTTP method is not served at this path, or not for this revision; `Allow` says which are.',
  ),
  path_not_found: row(
    'client',
    404,
    INVALID_REQUEST,
    'No endpoint at this path',
    'Nothing is served there. The start-up message lists the addresses.',
  ),
  origin_not_allowed: row(
    'client',
    403,
    INVALID_REQUEST,
    'Origin not allowed',
    'A browser page of a foreign origin; allow it under `listen.allowedOrigins` if it is yours.',
  ),
  host_not_allowed: row(
    'client',
    403,
    INVALID_REQUEST,
    'Host not allowed',
    'The `Host` header names none of our names: DNS rebinding looks like this. Allow it under `listen.allowedHosts`.',
  ),

  // Sessions and revisions.
  session_required: row(
    'client',
    400,
    INVALID_REQUEST,
    'Mcp-Session-Id header is required',
    'A legacy request without the session id that `initialize` gave.',
  ),
  session_not_found: row(
    'client',
    404,
    { legacy: SESSION_NOT_FOUND, modern: INVALID_REQUEST },
    'Session not found',
    'The session is unknown, expired, ended, or somebody else’s. Initialize again.',
  ),
  session_exists: row(
    'client',
    400,
    INVALID_REQUEST,
    'Session already initialized',
    '`initialize` inside a live session. The session goes on as it was.',
  ),
  session_ended: row(
    'client',
    200,
    INVALID_REQUEST,
    'Session ended before the request was answered',
    'The session was deleted, expired, or the gateway shut down while the request was running.',
  ),
  too_many_sessions: row(
    'client',
    429,
    INTERNAL,
    'Too many sessions',
    'This principal, or the gateway, has as many sessions as the limit allows.',
  ),
  too_many_requests: row(
    'client',
    429,
    INTERNAL,
    'Too many requests in flight',
    'The session has as many unanswered requests as the limit allows.',
  ),
  unknown_event: row(
    'client',
    400,
    INVALID_REQUEST,
    'Unknown event id',
    '`Last-Event-ID` names no stream of this session, or an event that is no longer kept.',
  ),
  unsupported_version_header: row(
    'client',
    400,
    INVALID_REQUEST,
    'Unsupported protocol version',
    'A legacy request whose version header is malformed, unknown, outside the profile, or other than negotiated.',
  ),
  unsupported_version: row(
    'client',
    400,
    { legacy: UNSUPPORTED_VERSION, modern: UNSUPPORTED_VERSION },
    'Unsupported protocol version',
    'The revision is unknown or outside the endpoint’s profile; `data.supported` lists those it has.',
  ),
  header_mismatch: row(
    'client',
    400,
    HEADER_MISMATCH,
    'Header mismatch',
    'A mirrored header is missing, malformed, or says something else than the body.',
  ),
  missing_meta: row(
    'client',
    400,
    INVALID_PARAMS,
    'Missing _meta fields',
    'A modern request without protocolVersion or clientCapabilities in `_meta`.',
  ),
  missing_capability: row(
    'client',
    400,
    { legacy: INVALID_REQUEST, modern: MISSING_CAPABILITY },
    'Missing required client capability',
    'The call cannot go on without a capability that the client did not declare.',
  ),
  response_not_expected: row(
    'client',
    400,
    INVALID_REQUEST,
    'Responses are not accepted in this revision',
    'A JSON-RPC response as the body of a modern POST.',
  ),

  // What was asked for does not exist here.
  method_not_found: row(
    'client',
    200,
    METHOD_NOT_FOUND,
    'Method not found',
    'No backend behind the endpoint has the capability that the method needs.',
  ),
  method_removed: row(
    'client',
    404,
    METHOD_NOT_FOUND,
    'Method not found',
    'A modern request for a method that the revision does not have, or that nobody behind the endpoint offers.',
  ),
  invalid_params: row(
    'client',
    200,
    INVALID_PARAMS,
    'Invalid params',
    'A member that the method needs is missing or has the wrong type.',
  ),
  resource_not_found: row(
    'client',
    200,
    { legacy: RESOURCE_NOT_FOUND, modern: INVALID_PARAMS },
    'Resource not found',
    'No backend behind the endpoint has that resource.',
  ),
  // What several backends have, or what a merged list was asked for.
  name_collision: row(
    'gateway',
    200,
    INVALID_PARAMS,
    'More than one backend has something of this name',
    'The endpoint renames nothing (`names: never`) and several of its backends have the name; `data.backends` lists them. Choose other names for the endpoint, or use the backends’ own addresses.',
  ),
  resource_ambiguous: row(
    'client',
    200,
    INVALID_PARAMS,
    'More than one backend has this resource',
    'The URI fits resources or templates of several backends, which `data.backends` lists. `resources/list` has it in forms that name the backend.',
  ),
  invalid_cursor: row(
    'client',
    200,
    INVALID_PARAMS,
    'Invalid cursor',
    'The cursor was changed, is of another list, endpoint or principal, or the list has changed since. Begin the list again.',
  ),
  tasks_not_supported: row(
    'client',
    200,
    METHOD_NOT_FOUND,
    'Tasks are not supported',
    'Tasks are refused by name until they are supported as a whole.',
  ),
  invalid_request_state: row(
    'client',
    200,
    INVALID_PARAMS,
    'Invalid requestState',
    'The state was changed, has expired, was used already, or belongs to another request or principal.',
  ),

  // Asks.
  ask_not_supported: row(
    'client',
    200,
    INVALID_REQUEST,
    'The client cannot answer this',
    'A backend asked for something that the client did not declare, or at a moment when nobody can answer.',
  ),
  ask_timeout: row(
    'client',
    200,
    INTERNAL,
    'The client did not answer in time',
    'An ask was out for longer than the limit.',
  ),
  ask_failed: row(
    'client',
    200,
    INTERNAL,
    'The client answered with an error',
    'An ask that the call cannot go on without was answered with an error.',
  ),
  ask_declined: row(
    'client',
    200,
    INTERNAL,
    'The person declined what the backend needs',
    'A backend cannot begin before a page was visited, the person declined, and the backend still cannot begin.',
  ),
  revision_too_old: row(
    'client',
    200,
    INVALID_REQUEST,
    'The client’s revision does not have this',
    'A backend needs something that is younger than the revision which the client speaks; `data` has what it is, since when there is such a thing, and the client’s revision.',
  ),
  too_many_asks: row(
    'backend',
    200,
    INTERNAL,
    'Too many questions at once',
    'A backend has more unanswered asks than the limit allows.',
  ),
  too_many_rounds: row(
    'backend',
    200,
    INTERNAL,
    'Too many rounds of input',
    'A backend keeps asking for input beyond the limit.',
  ),
  round_too_large: row(
    'backend',
    200,
    INTERNAL,
    'Too many bytes in one round of input',
    'The questions of one round, or the answers to them, are over the limit.',
  ),
  too_many_parked: row(
    'client',
    200,
    INTERNAL,
    'Too many calls wait for input',
    'As many calls as the limit allows wait for their clients’ answers.',
  ),

  // Identity. Who presents what, and why it does not do. `WWW-Authenticate` says the same to clients that read it.
  credentials_missing: row(
    'client',
    401,
    UNAUTHORIZED,
    'Authentication required',
    'Neither a token nor a key came with the request. Where an authorization server is configured, `resource_metadata` in `WWW-Authenticate` leads to it.',
  ),
  credentials_ambiguous: row(
    'client',
    400,
    { legacy: INVALID_REQUEST, modern: INVALID_REQUEST },
    'Credentials came in more than one way',
    'A repeated header, or two of `Authorization`, the key header and the key parameter at once. Nobody guesses which one is meant.',
  ),
  token_invalid: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token is not valid',
    'Malformed, of an issuer that is not configured, not signed by it, or not active. The message says which.',
  ),
  token_expired: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token has expired',
    'Get a new one; clients refresh by themselves.',
  ),
  audience_missing: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token names no audience',
    'A token for anybody is a token for nobody. Have the issuer put the address of the endpoint into `aud`; where it checks that itself and cannot show it, `audienceCheckedByVerifier: true`.',
  ),
  audience_mismatch: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token is for another audience',
    'None of the audiences of the token is the address of this endpoint, or one of `identity.audiences`.',
  ),
  key_unknown: row(
    'client',
    401,
    UNAUTHORIZED,
    'The key is not known',
    'It was never made here, or it was revoked. `bascule key list` shows those that there are.',
  ),
  key_expired: row('client', 401, UNAUTHORIZED, 'The key has expired', '`bascule key new` makes another.'),
  scope_insufficient: row(
    'client',
    403,
    403,
    'More scopes are needed',
    'The credentials are good but do not cover this operation; `data.required` has all that it needs, `data.missing` what is lacking.',
  ),
  issuer_unavailable: row(
    'backend',
    503,
    INTERNAL,
    'The token cannot be checked at the moment',
    'The issuer’s keys, or its introspection, cannot be reached. The token may be good: try again.',
  ),

  // Policy. The numbers are those of HTTP on purpose: outside the range that JSON-RPC reserves.
  policy_denied: row(
    'client',
    200,
    403,
    'Denied by policy',
    'A rule, or the absence of one, denies it; `data.rules` has the ids of the rules that decided. Notifications are answered with HTTP 403, and so is everything where the endpoint says `denials: http403`.',
  ),
  rate_limited: row(
    'client',
    429,
    429,
    'Rate limited',
    'More requests a second, or more at the same time, than `rates` allows; `data.limit` names the limit, and `Retry-After` says when to come back.',
  ),

  // Backends.
  backend_unavailable: row(
    'backend',
    200,
    INTERNAL,
    'Backend unavailable',
    'The backend is down, cannot be reached, or was cut off.',
  ),
  backend_invalid: row(
    'backend',
    200,
    INTERNAL,
    'Backend gave an invalid answer',
    'The backend answered with something that is no answer: no body, no JSON-RPC, a result type that nobody knows.',
  ),
  backend_timeout: row(
    'backend',
    200,
    INTERNAL,
    'Backend timed out',
    'The backend was silent for longer than the limit, or took longer in all.',
  ),
  backend_busy: row(
    'backend',
    200,
    INTERNAL,
    'Backend busy',
    'All processes of the backend are in use and the queue is full.',
  ),
  backend_too_large: row('backend', 200, INTERNAL, 'Backend answer too large', 'The answer is over the limit.'),
  backend_session_lost: row(
    'backend',
    200,
    INTERNAL,
    'Backend lost its session',
    'The backend forgot its session while the request was running. It may have run; it was not sent twice.',
  ),
  shutting_down: row('gateway', 503, INTERNAL, 'Shutting down', 'The gateway is stopping and takes no new requests.'),

  // Ours.
  internal_error: row(
    'gateway',
    200,
    INTERNAL,
    'Internal error',
    'A fault in Bascule. `data.logId` finds the entry in its log.',
  ),
} as const satisfies Record<string, FailureRow>;

export type Reason = keyof typeof failures;

export interface FailureDetail {
  /** A more specific text for people. */
  readonly message?: string;
  /** Further members of the error's `data`, next to `reason`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The raw id token of the message that failed, where it could be read; it is echoed. */
  readonly id?: string;
  /** For the log alone. */
  readonly cause?: unknown;
  readonly http?: HttpDetail;
}

/** What HTTP says of a failure beyond its row: a challenge, when to come back. */
export interface HttpDetail {
  /** In the place of the row's. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where there is no id to echo, the answer says `"id": null`: one style of telling that credentials are missing has it so. */
  readonly nullId?: boolean;
}

/** A failure that has a row in the table. Nothing else should be thrown on purpose. */
export class Failure extends Error {
  readonly reason: Reason;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly id: string | undefined;
  readonly http: HttpDetail | undefined;

  constructor(reason: Reason, detail: FailureDetail = {}) {
    super(detail.message ?? failures[reason].message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'Failure';
    this.reason = reason;
    this.data = detail.data;
    this.id = detail.id;
    this.http = detail.http;
  }

  get row(): FailureRow {
    return failures[this.reason];
  }
}
