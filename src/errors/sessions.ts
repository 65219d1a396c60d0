/** Failures of sessions and revisions, and of the headers and `_meta` that a request must have. */
import {
  HEADER_MISMATCH,
  INTERNAL,
  INVALID_PARAMS,
  INVALID_REQUEST,
  MISSING_CAPABILITY,
  rows,
  SESSION_NOT_FOUND,
  UNSUPPORTED_VERSION,
} from './row.ts';

export const sessions = rows(
  { blame: 'client', status: 400, code: INVALID_REQUEST },
  {
    session_required: {
      message: 'Mcp-Session-Id header is required',
      when: 'A legacy request must have the session id from the response to `initialize`.',
    },
    session_not_found: {
      status: 404,
      code: { legacy: SESSION_NOT_FOUND, modern: INVALID_REQUEST },
      message: 'Session not found',
      when: 'The session is unknown, has expired or ended, or belongs to another principal. Initialize again.',
    },
    session_exists: {
      message: 'Session already initialized',
      when: 'The client sent `initialize` in a session that is already initialized. The session is not affected.',
    },
    session_ended: {
      status: 200,
      message: 'Session ended before the request was answered',
      when: 'The session was deleted or expired, or the gateway shut down, while the request was running.',
    },
    session_moved: {
      blame: 'gateway',
      status: 421,
      code: INTERNAL,
      message: 'The session is in another process',
      when: 'Between processes of the gateway: the one that was asked does not have the session any more. No client gets it.',
    },
    owner_unavailable: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'The process that has the session does not answer',
      when: 'The request belongs to another process of this gateway, which ended or hangs. The request may have been executed. Try again; where the session was lost, the client gets 404 then.',
    },
    too_many_sessions: {
      status: 429,
      code: INTERNAL,
      message: 'Too many sessions',
      when: 'The principal has reached `limits.sessionsPerPrincipal`, or the gateway `limits.sessionsTotal`.',
    },
    too_many_requests: {
      status: 429,
      code: INTERNAL,
      message: 'Too many requests in flight',
      when: 'The session has as many unanswered requests as `limits.inFlightPerSession` allows.',
    },
    too_many_subscriptions: {
      status: 429,
      code: INTERNAL,
      message: 'Too many subscriptions',
      when: 'A legacy session, or one `subscriptions/listen`, subscribes to more resources than `limits.subscriptionsPerClient`, or their URIs are longer in total than `limits.subscriptionBytesPerClient`. Unsubscribe from some, listen to fewer, or raise the limit.',
    },
    uri_too_long: {
      status: 200,
      code: INVALID_PARAMS,
      message: 'The URI of the resource is too long',
      when: 'The URI to subscribe to is longer than 8 KiB. The gateway keeps it as long as the subscription, so use a shorter one.',
    },
    unknown_event: {
      message: 'Unknown event id',
      when: '`Last-Event-ID` does not belong to a stream of this session, or the event is no longer stored.',
    },
    unsupported_version_header: {
      message: 'Unsupported protocol version',
      when: 'The version header of a legacy request is malformed or unknown, is not in the endpoint’s profile, or differs from the negotiated version.',
    },
    unsupported_version: {
      code: UNSUPPORTED_VERSION,
      message: 'Unsupported protocol version',
      when: 'The revision is unknown or not in the endpoint’s profile; `data.supported` lists the supported ones.',
    },
    header_mismatch: {
      code: HEADER_MISMATCH,
      message: 'Header mismatch',
      when: 'A mirrored header is missing or malformed, or differs from the body.',
    },
    missing_meta: {
      code: INVALID_PARAMS,
      message: 'Missing _meta fields',
      when: 'A modern request must have protocolVersion and clientCapabilities in `_meta`.',
    },
    missing_capability: {
      code: { legacy: INVALID_REQUEST, modern: MISSING_CAPABILITY },
      message: 'Missing required client capability',
      when: 'The call needs a capability that the client did not declare.',
    },
    response_not_expected: {
      message: 'Responses are not accepted in this revision',
      when: 'The body of the POST is a JSON-RPC response. Modern clients answer server requests with a retry of the request.',
    },
  },
);
