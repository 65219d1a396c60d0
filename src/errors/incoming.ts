/** Messages that cannot be read, and requests that HTTP refuses before the protocol begins. */
import { type FailureRow, INTERNAL, INVALID_REQUEST, PARSE, row } from './row.ts';

export const incoming = {
  gateway_loop: row(
    'client',
    508,
    INVALID_REQUEST,
    'The gateway is a backend of itself',
    'A request of this gateway came back to it: one of its backends leads here. Take that backend out of the config.',
  ),
  // The message cannot be read.
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
    'Two members of one object have the same name (escaped twins count), a member differs from a name of the protocol in case alone, or a string holds half a surrogate pair. Two readers could understand two things, so it is refused. A legacy backend gets it for such a question to a client.',
  ),
  too_deep: row('client', 400, INVALID_REQUEST, 'Nested too deeply', 'Arrays and objects are nested beyond the limit.'),
  too_many_members: row(
    'client',
    400,
    INVALID_REQUEST,
    'Too many members',
    'The message itself, its `params`, its `_meta`, a `ref` or the `notifications` of a listen has more than 1,024 members, or names of more than 64 KiB. What is in `arguments` is not counted.',
  ),
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
  bodies_busy: row(
    'gateway',
    503,
    INTERNAL,
    'Too many bodies are being sent at once',
    'Bodies that have not come to their end fill `limits.bodyBytesTotal`, or those of one address `limits.bodyBytesPerAddress`. Try again; behind a proxy, name it in `listen.trustedProxies`.',
  ),
  too_many_connections: row(
    'gateway',
    503,
    INTERNAL,
    'Too many connections',
    'More than `limits.connectionsTotal`, or more of one address than `limits.connectionsPerAddress`. Behind a proxy, name it in `listen.trustedProxies`. Health paths are served all the same.',
  ),
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
    'The `Host` header names none of our names: DNS rebinding looks like this. The host of `identity.publicUrl` is ours; allow others under `listen.allowedHosts`. The log names each refused host once. Health paths answer any host.',
  ),
} as const satisfies Record<string, FailureRow>;
