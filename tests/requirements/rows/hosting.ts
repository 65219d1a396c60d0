/** Serving clients over HTTP: sessions, resumption, and what each request is answered. */
import { sdkApi } from '../reasons.ts';
import type { Requirement } from '../requirement.ts';
import { divergent, held, notApplicable } from '../requirement.ts';

export const hosting = {
  'hosting:session:cors-expose': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A browser may read `Mcp-Session-Id` from our answers.',
  }),
  'hosting:session:create': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: '`initialize` is answered with a fresh `Mcp-Session-Id`.',
  }),
  'hosting:session:delete': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: '`DELETE` with a session id ends that session.',
  }),
  'hosting:session:id-charset': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'Session ids are visible ASCII, and no two are alike.',
  }),
  'hosting:session:isolation': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: "Sessions do not see each other's messages, and one that ends leaves the others working.",
  }),
  'hosting:session:missing-id': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'A legacy request without a session id is answered 400, unless the endpoint says `sessions: optional`.',
  }),
  'hosting:session:post-termination-404': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'After the end of a session its id is answered 404.',
  }),
  'hosting:session:reinitialize': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A second `initialize` in a live session is refused, and the session continues unchanged.',
  }),
  'hosting:session:reuse': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'Requests with one session id share one backend session and its state.',
  }),
  'hosting:session:unknown-id': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'An unknown session id is answered 404, on POST, GET and DELETE alike.',
  }),
  'hosting:stateless:concurrent-clients': held({
    spec: 'sdk',
    behaviour: 'Modern clients use one endpoint at the same time and see only their own answers.',
  }),
  'hosting:stateless:no-reuse': notApplicable(sdkApi, {
    spec: 'sdk',
    behaviour: 'A transport made for one request refuses a second.',
  }),
  'hosting:stateless:no-session-id': held({
    spec: 'sdk',
    behaviour: 'Where there is no session, no session id is issued and a session id in a request is ignored.',
  }),
  'hosting:resume:bad-event-id': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A `Last-Event-ID` that names no stream of the session is answered 400.',
  }),
  'hosting:resume:buffered-replay': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'Events sent while the client was disconnected are replayed in order, once.',
  }),
  'hosting:resume:close-stream': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour:
      'If a backend closes the connection of a running call so that it is polled, the gateway polls it, and the client loses nothing.',
  }),
  'hosting:resume:event-ids': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'Every event of a legacy stream has an id, unique in its session.',
  }),
  'hosting:resume:priming': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: ['2025-11-25'],
    behaviour:
      'A stream begins with an event that has an id and empty data, and `retry` precedes a close that the gateway chose.',
  }),
  'hosting:resume:replay': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'GET with `Last-Event-ID` brings the later events of that stream and then continues live.',
  }),
  'hosting:resume:stream-scoped': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'A replay holds nothing of any other stream.',
  }),
  'hosting:http:accept-406': held({
    spec: 'sdk',
    behaviour: 'An `Accept` with which neither JSON nor event streams can be served is answered 406.',
  }),
  'hosting:http:batch': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'An array in a POST is refused in every revision that has no batches.',
  }),
  'hosting:http:content-type-415': held({
    spec: 'sdk',
    behaviour: 'A POST whose `Content-Type` is not JSON is answered 415.',
  }),
  'hosting:http:disconnect-not-cancel': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour: 'A legacy client that drops its connection has not cancelled its call: the backend continues it.',
  }),
  'hosting:http:dns-rebinding': held({
    spec: '2025-11-25/basic/transports#security-warning',
    behaviour: 'A foreign `Origin`, or on loopback a foreign `Host`, is answered 403 on every path and method.',
  }),
  'hosting:http:json-response-mode': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'Answers come as one JSON document where that is what the client accepts.',
  }),
  'hosting:http:method-405': held({
    spec: 'sdk',
    behaviour: 'An HTTP method that the path does not serve is answered 405, and `Allow` names those that it does.',
  }),
  'hosting:http:no-broadcast': held({
    spec: '2025-11-25/basic/transports#multiple-connections',
    revisions: 'legacy',
    behaviour: 'A message for a client goes out on exactly one of its streams.',
  }),
  'hosting:http:notifications-202': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour: 'A POST with a notification or a response is answered 202 with an empty body.',
  }),
  'hosting:http:onerror': notApplicable(sdkApi, {
    spec: 'sdk',
    behaviour: 'A callback is called for requests that the transport refused.',
  }),
  'hosting:http:parse-error-400': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'What is not JSON, or not JSON-RPC, is answered 400 with a JSON-RPC error.',
  }),
  'hosting:http:protocol-version-400': held({
    spec: '2025-11-25/basic/transports#protocol-version-header',
    behaviour: 'A version header that is malformed, unknown or outside the profile is answered 400.',
  }),
  'hosting:http:protocol-version-default': held({
    spec: '2025-11-25/basic/transports#protocol-version-header',
    revisions: 'legacy',
    behaviour: "Without a version header the session's negotiated revision holds, and without a session 2025-03-26.",
  }),
  'hosting:http:response-same-connection': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'The answer to a POST comes on that POST.',
  }),
  'hosting:http:second-sse-rejected': divergent({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A second GET stream in one session is refused.',
    reason:
      'The specification lets a client keep several streams open. The gateway serves them all and sends each message on exactly one.',
  }),
  'hosting:http:sse-close-after-response': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'The stream of a POST ends after its answer.',
  }),
  'hosting:http:standalone-sse': held({
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    revisions: 'legacy',
    behaviour: 'GET opens a stream for messages that belong to no call.',
  }),
  'hosting:http:standalone-sse-no-response': held({
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    revisions: 'legacy',
    behaviour: 'On a GET stream there is never an answer, unless it resumes the stream of a POST.',
  }),
  'hosting:http:protocol-version-rejection-literal': held({
    spec: 'sdk',
    behaviour: 'The refusal of a revision says "Unsupported protocol version", on which older clients rely.',
  }),
  'hosting:http:legacy-no-modern-vocabulary': held({
    spec: '2026-07-28/basic/versioning',
    behaviour: 'Headers and bodies of a legacy exchange hold nothing that 2026-07-28 introduced.',
  }),
  'hosting:http:modern:tools-call-stateless': held({
    spec: '2026-07-28/basic/transports/streamable-http',
    revisions: 'modern',
    behaviour: 'A modern `tools/call` is served as the first thing on a connection, and its result says `complete`.',
  }),
  'hosting:http:modern:no-session-id': held({
    spec: '2026-07-28/basic/transports/streamable-http',
    revisions: 'modern',
    behaviour: 'No modern answer carries `Mcp-Session-Id`.',
  }),
  'hosting:http:modern:initialize-removed': held({
    spec: '2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions',
    revisions: 'modern',
    behaviour: '`initialize` in a modern envelope is answered -32601.',
  }),
  'hosting:http:modern:legacy-fallthrough': held({
    spec: '2026-07-28/basic/versioning',
    revisions: 'modern',
    behaviour: 'Both eras are served on one path, and neither changes what the other gets.',
  }),
  'hosting:http:modern:handler-exception-internal-error': held({
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'A failure of our own is a generic -32603 for a modern client, without a word of the exception.',
  }),
  'hosting:http:modern:discover-response-shape': held({
    spec: '2026-07-28/server/discover#discoverresult',
    revisions: 'modern',
    behaviour: 'The discovery result has revisions and capabilities; server info is only in its `_meta`.',
  }),
  'hosting:http:modern:removed-method-status-404': held({
    spec: '2026-07-28/basic/transports/streamable-http#protocol-version-header',
    revisions: 'modern',
    behaviour: 'A method that 2026-07-28 removed is answered 404 with -32601.',
  }),
  'hosting:http:modern:envelope-missing-key-status-400': held({
    spec: '2026-07-28/basic/transports/streamable-http',
    revisions: 'modern',
    behaviour: 'A modern request without one of the required envelope members is answered 400 with -32602.',
  }),
  'hosting:http:modern:handler-error-status-via-table': held({
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'The HTTP status of every failure is read from the one failure table.',
  }),
  'hosting:http:modern:notification-post-202': held({
    spec: '2026-07-28/basic/transports/streamable-http#sending-messages',
    revisions: 'modern',
    behaviour: 'A modern notification is answered 202; a JSON-RPC response in a modern POST 400.',
  }),
} satisfies Record<string, Requirement>;
