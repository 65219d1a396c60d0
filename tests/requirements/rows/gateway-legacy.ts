/** Sessions of 2025-03-26 to 2025-11-25 over Streamable HTTP. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayLegacy = {
  'gateway:legacy:ask-on-open-post': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour:
      'A server request that belongs to no call in particular reaches a client without a GET stream on the stream of a POST that is open.',
  }),
  'gateway:legacy:asked-once': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour:
      'A server request reaches the client once, on one stream, even if the call that it belongs to ends first; the client’s answer is still accepted then.',
  }),
  'gateway:legacy:session-id': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'A session id has at least 128 random bits.',
  }),
  'gateway:legacy:initialize-negotiates': held({
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    revisions: 'legacy',
    behaviour: '`initialize` never fails for its revision where the endpoint has a legacy one.',
  }),
  'gateway:legacy:initialize-modern-only': held({
    spec: '2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions',
    revisions: 'legacy',
    behaviour: 'An endpoint without legacy revisions answers `initialize` with -32022 and names those that it has.',
  }),
  'gateway:legacy:second-initialize': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      '`initialize` in a live session is 400 with -32600; client info and revision stay as they were, and calls go on.',
  }),
  'gateway:legacy:session-required': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'A request that needs a session and names none is 400 with -32600.',
  }),
  'gateway:legacy:sessions-optional': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'An endpoint with `sessions: optional` serves a request without a session as a one-off.',
  }),
  'gateway:legacy:session-404': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour:
      'An unknown, expired or ended session is 404 `application/json`, -32001 "Session not found", with the id of the request.',
  }),
  'gateway:legacy:continued': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'After a restart a session goes on under its id, with its client facts, log level and subscriptions, where no backend keeps its state in a process of the gateway.',
  }),
  'gateway:legacy:continued-bound': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'A sealed session id opens for its own principal, endpoint and gateway, within its lifetime. A session that was ended, or expired, is never continued.',
  }),
  'gateway:legacy:ended-at-replicas': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'A session that one of several gateways has ended stays ended at all that run, even where its record is deleted or replaced by an older one, and where the store has lost its data.',
  }),
  'gateway:legacy:ended-bounded': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'Ended sessions take a bounded part of the store. A principal who ends more loses older sessions of their own at a restart, and no one else does.',
  }),
  'gateway:legacy:session-404-backend-lost': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'A client whose HTTP backend lost its session gets the same 404, and can start again.',
  }),
  'gateway:legacy:modern-method-refused': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A method that only 2026-07-28 has is -32601 in a legacy session.',
  }),
  'gateway:legacy:version-header-400': held({
    spec: '2025-11-25/basic/transports#protocol-version-header',
    revisions: ['2025-06-18', '2025-11-25'],
    behaviour: 'A version header other than the negotiated one is answered 400.',
  }),
  'gateway:legacy:version-header-absent': held({
    spec: '2025-11-25/basic/transports#protocol-version-header',
    revisions: 'legacy',
    behaviour: 'Without a version header the negotiated revision holds.',
  }),
  'gateway:legacy:notification-202': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour: 'A notification is answered exactly 202, with an empty body.',
  }),
  'gateway:legacy:sent-order': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'What a client sends on a persistent connection reaches a stdio backend in the order sent.',
  }),
  'gateway:legacy:response-202': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour:
      "The client's answer to a server request is 202, and goes to the one server request with that id in that session.",
  }),
  'gateway:legacy:response-to-ping-202': held({
    spec: '2025-11-25/basic/utilities/ping#behavior-requirements',
    revisions: 'legacy',
    behaviour: "The client's answer to a ping is 202, and reaches no backend.",
  }),
  'gateway:legacy:response-unasked': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'An answer that matches no open server request is 202, is dropped and counted, and reaches no backend.',
  }),
  'gateway:legacy:response-foreign-session': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'The answer of one session does not settle a server request of another, even if the ids are equal.',
  }),
  'gateway:legacy:response-malformed': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A malformed response is 400 with -32600.',
  }),
  'gateway:legacy:batch-refused': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: ['2025-06-18', '2025-11-25'],
    behaviour:
      'An array of requests, notifications, responses or a mixture is 400 with -32600, `unsupported_mcp_batch`.',
  }),
  'gateway:legacy:batch-unparsed': held({
    spec: 'gateway',
    behaviour: 'A refused array is refused at its first byte: nothing in it is parsed, and nothing reaches a backend.',
  }),
  'gateway:legacy:batch-served': held({
    spec: '2025-03-26/basic#batching',
    revisions: ['2025-03-26'],
    behaviour:
      'Where the profile allows batches, 2025-03-26 clients get one array or one stream with an answer to every request.',
  }),
  'gateway:legacy:batch-quiet-202': held({
    spec: '2025-03-26/basic/transports#sending-messages-to-the-server',
    revisions: ['2025-03-26'],
    behaviour: 'A batch of only notifications and responses is 202.',
  }),
  'gateway:legacy:batch-invalid': held({
    spec: '2025-03-26/basic#batching',
    revisions: ['2025-03-26'],
    behaviour: 'An empty array, or one with `initialize` inside, is -32600.',
  }),
  'gateway:legacy:batch-not-negotiated': held({
    spec: 'gateway',
    revisions: ['2025-03-26'],
    behaviour: 'A profile that denies batches does not negotiate 2025-03-26, unless it names that revision explicitly.',
  }),
  'gateway:legacy:batch-one-denial': held({
    spec: 'gateway',
    revisions: ['2025-03-26'],
    behaviour: 'Every member of a batch is decided on its own, and one denial denies all.',
  }),
  'gateway:legacy:get-stream': held({
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    revisions: 'legacy',
    behaviour: 'GET in a session is an event stream, and several may be open at once.',
  }),
  'gateway:legacy:resume-settled-ends': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Resuming the stream of a settled request brings what is left and then ends; it never stays open.',
  }),
  'gateway:legacy:resume-foreign-id': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'An event id of another session is answered 400.',
  }),
  'gateway:legacy:resume-bounded': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'The events kept for a client that is away are bounded, per stream and in total.',
  }),
  'gateway:legacy:priming-by-revision': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour:
      'Streams of revisions before 2025-11-25 do not begin with an empty event, which their clients could not read.',
  }),
  'gateway:legacy:delete-settles': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      '`DELETE` is 204; calls in flight are cancelled at the backend and answered with an error, never with silence.',
  }),
  'gateway:legacy:expiry-settles': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A session that reaches the end of its lifetime answers its calls in flight with an error.',
  }),
  'gateway:legacy:shutdown-settles': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Shutting down answers calls in flight with an error within its time limit.',
  }),
  'gateway:legacy:idle-expiry': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A session that is not used for its idle time ends; one with work in flight is not idle.',
  }),
  'gateway:legacy:session-limit': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Sessions are limited per principal and in total, and the refusal names its reason.',
  }),
  'gateway:legacy:stream-limit': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'The number of open GET streams of one session is limited; one more is 429, and open streams stay open.',
  }),
  'gateway:legacy:cancel-ends-stream': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    revisions: 'legacy',
    behaviour: 'The stream of a cancelled request ends without an answer.',
  }),
  'gateway:legacy:cancel-json-204': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A client that accepts only JSON gets 204 for its cancelled request.',
  }),
  'gateway:legacy:cancel-upstream-id': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'The cancellation reaches the backend with the id that the gateway used for the call there.',
  }),
  'gateway:legacy:cancel-resume-ends': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Resuming the stream of a cancelled request ends at once.',
  }),
  'gateway:legacy:cancel-shared-id': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A cancellation of an id that two requests in flight share is ignored.',
  }),
  'gateway:legacy:cancel-no-leak': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A thousand cancelled calls with an event log leak no state.',
  }),
  'gateway:legacy:disconnect-waits': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour: 'If a client drops its connection, the result of its call is kept in the event log.',
  }),
  'gateway:legacy:same-id-in-flight': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Two requests in flight with one id each get their own answer on their own POST.',
  }),
  'gateway:legacy:ask-undeclared-elicitation': held({
    spec: '2025-11-25/client/elicitation#error-handling',
    revisions: 'legacy',
    behaviour: 'An elicitation that the client does not support is answered -32602 by the gateway.',
  }),
  'gateway:legacy:ask-undeclared-roots': held({
    spec: '2025-11-25/client/roots#error-handling',
    revisions: 'legacy',
    behaviour: 'A `roots/list` to a client without roots is answered -32601 by the gateway.',
  }),
  'gateway:legacy:ask-undeclared-sampling': held({
    spec: '2025-11-25/client/sampling#error-handling',
    revisions: 'legacy',
    behaviour: 'A sampling request that the client does not support is answered -32600 by the gateway.',
  }),
  'gateway:legacy:vocabulary': held({
    spec: '2026-07-28/basic/versioning',
    revisions: 'legacy',
    behaviour:
      'No protocol position of any legacy frame holds a 2026 member; content that looks like one is left alone.',
  }),
  'gateway:legacy:subscriptions-bounded': held({
    spec: 'gateway',
    behaviour:
      'The subscriptions of a session or of a `subscriptions/listen` are bounded in number and bytes (`too_many_subscriptions`), and each URI in length (`uri_too_long`).',
  }),
} satisfies Record<string, Requirement>;
