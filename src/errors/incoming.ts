/** Messages that cannot be read, and requests that HTTP refuses before the protocol begins. */
import { INTERNAL, INVALID_REQUEST, PARSE, rows } from './row.ts';

export const incoming = rows(
  { blame: 'client', status: 400, code: INVALID_REQUEST },
  {
    gateway_loop: {
      status: 508,
      message: 'The gateway is a backend of itself',
      when: 'A request that this gateway sent came back to it: one of its backends is this gateway. Remove that backend from the config.',
    },
    // The message cannot be read.
    parse_error: { code: PARSE, message: 'Parse error', when: 'The body is not JSON, or not UTF-8.' },
    invalid_request: {
      message: 'Invalid Request',
      when: 'The body is JSON, but not a JSON-RPC 2.0 message: `id` is null or fractional, it has both `result` and `error`, or its shape is unknown.',
    },
    ambiguous_json: {
      message: 'Ambiguous JSON',
      when: 'Two members of one object have the same name (after decoding escapes), a member differs from a name of the protocol only in case, or a string contains a lone surrogate. Two JSON parsers could read the message differently, so it is refused. A legacy backend gets this error for such a server request.',
    },
    too_deep: { message: 'Nested too deeply', when: 'Arrays and objects are nested deeper than `limits.jsonDepth`.' },
    too_many_members: {
      message: 'Too many members',
      when: 'The message itself, its `params`, its `_meta`, a `ref` or the `notifications` of a listen has more than 1,024 members, or names of more than 64 KiB. Members inside `arguments` are not counted.',
    },
    unsupported_mcp_batch: {
      message: 'Batches are not supported',
      when: 'The body is a JSON array, and the revision has no batches or the endpoint’s profile denies them. No message of the batch was processed.',
    },
    invalid_batch: { message: 'Invalid batch', when: 'The batch is empty, or contains `initialize`.' },

    // HTTP refuses before the protocol begins.
    body_too_large: {
      status: 413,
      message: 'Body too large',
      when: 'The body is larger than `limits.bodyBytes`, or than the endpoint’s `bodyBytes`.',
    },
    bodies_busy: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'Too many bodies are being sent at once',
      when: 'Partly received bodies use up `limits.bodyBytesTotal`, or those of one address `limits.bodyBytesPerAddress`. Try again. If clients connect through a proxy, add it to `listen.trustedProxies`.',
    },
    too_many_connections: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'Too many connections',
      when: 'There are more connections than `limits.connectionsTotal`, or more from one address than `limits.connectionsPerAddress`. If clients connect through a proxy, add it to `listen.trustedProxies`. Health paths are still served.',
    },
    headers_too_large: {
      status: 431,
      message: 'Headers too large',
      when: 'The headers are larger than `limits.headerBytes`.',
    },
    request_timeout: {
      status: 408,
      message: 'Request not received in time',
      when: 'The headers did not arrive within `limits.headersMs`, or the body within `limits.bodyMs`.',
    },
    unsupported_media_type: {
      status: 415,
      message: 'Content-Type must be application/json',
      when: 'The request’s `Content-Type` is another one.',
    },
    not_acceptable: {
      status: 406,
      message: 'Not acceptable',
      when: 'The `Accept` header allows no media type that the gateway can respond with.',
    },
    method_not_allowed: {
      status: 405,
      message: 'Method not allowed',
      when: 'This path, or this revision, does not support the HTTP method; `Allow` lists those it supports.',
    },
    path_not_found: {
      status: 404,
      message: 'No endpoint at this path',
      when: 'The path is not an endpoint of this gateway. The start-up message lists the endpoints.',
    },
    origin_not_allowed: {
      status: 403,
      message: 'Origin not allowed',
      when: 'A web page of another origin sent the request. If you trust the page, add its origin to `listen.allowedOrigins`.',
    },
    host_not_allowed: {
      status: 403,
      message: 'Host not allowed',
      when: 'The `Host` header is not a name of this gateway, which is a sign of DNS rebinding. The host of `identity.publicUrl` is allowed; add others to `listen.allowedHosts`. The log names each refused host once. Health paths accept any host.',
    },

    // JSON-RPC services that are not MCP.
    unsupported_batch: {
      message: 'Batches are not supported',
      when: 'The body is a JSON array, and this JSON-RPC endpoint is configured with `batches: deny`. No message of the batch was processed.',
    },
  },
);
