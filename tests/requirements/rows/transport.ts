/** The wires themselves: Streamable HTTP and HTTP+SSE in, Streamable HTTP out, stdio both ways. */
import { sdkApi } from '../reasons.ts';
import type { Requirement } from '../requirement.ts';
import { divergent, held, notApplicable } from '../requirement.ts';

export const transport = {
  'transport:streamable-http:stateful': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    revisions: 'legacy',
    behaviour: 'A session over Streamable HTTP, answered in event streams, works from `initialize` to `DELETE`.',
  }),
  'transport:streamable-http:json-response': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    behaviour: 'A client that accepts only JSON is answered in JSON.',
  }),
  'transport:streamable-http:cancelled-request-terminated': divergent({
    spec: 'sdk',
    behaviour: 'The POST of a cancelled request ends with a -32800 error.',
    reason:
      'The specification says that a cancelled request should get no answer. Its stream ends, or the POST is answered 204, so that nothing hangs and no code is made up.',
  }),
  'transport:streamable-http:json-response-restrictions': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour:
      'For a client that accepts only JSON, a server request of its call fails at once where no other stream can carry it, and notifications are dropped.',
  }),
  'transport:streamable-http:stateless': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    behaviour:
      'Requests without a session are served where the era, or `sessions: optional`, allows it, and no session id is given out.',
  }),
  'transport:streamable-http:notifications': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    behaviour: 'Notifications of a call arrive in order, on the stream of its own request.',
  }),
  'transport:streamable-http:stateless-restrictions': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour:
      'A server request for a client without a session is answered to the backend with an error, and nothing hangs.',
  }),
  'transport:streamable-http:unrelated-messages': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    revisions: 'legacy',
    behaviour: "Messages that belong to no call go to the client's GET stream.",
  }),
  'transport:streamable-http:server-to-client': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    revisions: 'legacy',
    behaviour: 'A server request is sent on the stream of the call, and its answer comes in a separate POST.',
  }),
  'transport:streamable-http:resumability': held({
    spec: '2025-11-25/basic/transports#streamable-http',
    revisions: 'legacy',
    behaviour: 'A client that comes back with `Last-Event-ID` gets what it missed.',
  }),
  'transport:streamable-http:origin-validation': held({
    spec: '2025-11-25/basic/transports#security-warning',
    behaviour: 'A foreign `Origin` is refused 403 before the session is looked up.',
  }),
  'transport:sse': held({
    spec: '2024-11-05/basic/transports#http-with-sse',
    revisions: ['2024-11-05'],
    behaviour: 'A 2024-11-05 client works over HTTP+SSE from the endpoint event to the end of its stream.',
  }),
  'transport:sse:endpoint-event': held({
    spec: '2024-11-05/basic/transports#http-with-sse',
    revisions: ['2024-11-05'],
    behaviour: 'The first event of the stream names the address for POSTs.',
  }),
  'transport:sse:post:session-routing': held({
    spec: 'sdk',
    revisions: ['2024-11-05'],
    behaviour:
      'The address is usable as soon as it is announced; a POST without a session is 400, with an unknown one 404.',
  }),
  'transport:stdio': held({
    spec: '2025-11-25/basic/transports#stdio',
    behaviour:
      'A stdio backend and a stdio client exchange requests and notifications with the gateway over real pipes.',
  }),
  'transport:stdio:clean-shutdown': held({
    spec: '2025-11-25/basic/lifecycle#shutdown',
    behaviour: 'The gateway ends a stdio backend by closing its stdin, and sends no signal if the process then exits.',
  }),
  'transport:stdio:stream-purity': held({
    spec: '2025-11-25/basic/transports#stdio',
    behaviour: 'Stdin of a backend and stdout of `bascule stdio` carry only MCP messages.',
  }),
  'transport:stdio:no-embedded-newlines': held({
    spec: '2025-11-25/basic/transports#stdio',
    behaviour: 'A message spread over several lines on one side is one line on the stdio side.',
  }),
  'transport:stdio:shutdown-escalation': held({
    spec: '2025-11-25/basic/lifecycle#stdio',
    behaviour: 'A stdio backend that does not end is sent SIGTERM and then SIGKILL, its whole process group with it.',
  }),
  'transport:stdio:stderr-passthrough': held({
    spec: 'sdk',
    behaviour: 'What a stdio backend writes on stderr goes to the log, within a limit.',
  }),
  'client-transport:http:404-surfaces': held({
    spec: 'sdk',
    behaviour: 'A backend that lost the session of one client makes the gateway answer that client 404 with -32001.',
  }),
  'client-transport:http:session-404-reinitialize': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'A pooled session that the backend forgot is opened anew, once and without the old id.',
  }),
  'client-transport:http:accept-header-get': held({
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    revisions: 'legacy',
    behaviour: 'GET to a backend accepts `text/event-stream`.',
  }),
  'client-transport:http:accept-header-post': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'POST to a backend accepts both JSON and event streams.',
  }),
  'client-transport:http:cancel-closes-stream': held({
    spec: '2026-07-28/basic/transports/streamable-http#cancellation',
    revisions: 'modern',
    behaviour: 'Cancelling at a modern HTTP backend closes that response, and posts nothing.',
  }),
  'client-transport:http:cancel-posts-frame': held({
    spec: '2025-11-25/basic/utilities/cancellation#cancellation-flow',
    revisions: 'legacy',
    behaviour: 'Cancelling at a legacy HTTP backend posts exactly one `notifications/cancelled`.',
  }),
  'client-transport:http:concurrent-streams': held({
    spec: 'sdk',
    behaviour: 'Streams of several calls to one backend each feed their own call.',
  }),
  'client-transport:http:custom-client': notApplicable(sdkApi, {
    spec: 'sdk',
    behaviour: 'The caller supplies the HTTP client.',
  }),
  'client-transport:http:custom-headers': held({
    spec: 'sdk',
    behaviour: 'Headers configured for a backend are on every POST, GET and DELETE to it.',
  }),
  'client-transport:http:json-response-parsed': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    behaviour: 'A JSON answer of a backend settles the call just as a stream does.',
  }),
  'client-transport:http:no-reconnect-after-close': held({
    spec: 'sdk',
    behaviour: 'A backend that was closed is not contacted again.',
  }),
  'client-transport:http:no-reconnect-after-response': held({
    spec: 'sdk',
    behaviour: 'A stream that brought its answer is not opened again.',
  }),
  'client-transport:http:protocol-version-header': held({
    spec: '2025-11-25/basic/transports#protocol-version-header',
    behaviour: 'Every request after `initialize` tells a backend the negotiated revision.',
  }),
  'client-transport:http:protocol-version-stored': held({
    spec: 'sdk',
    behaviour:
      'The revision negotiated with one backend is kept for that session, apart from other backends and clients.',
  }),
  'client-transport:http:reconnect-get': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'A GET stream that broke is opened again with `Last-Event-ID`.',
  }),
  'client-transport:http:reconnect-post-priming': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour: 'A broken stream of a call is resumed only where an event id was seen; otherwise the call fails.',
  }),
  'client-transport:http:reconnect-retry-value': held({
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    revisions: 'legacy',
    behaviour: "The gateway waits as long as the backend's `retry` says before it reconnects.",
  }),
  'client-transport:http:resume-stream-api': notApplicable(sdkApi, {
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A caller hands a resumption token to its client library.',
  }),
  'client-transport:http:session-stored': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'The session id that a backend gave is on every later request of that session.',
  }),
  'client-transport:http:sse-405-tolerated': held({
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    revisions: 'legacy',
    behaviour: 'A backend without a GET stream is still used, and the GET is not repeated.',
  }),
  'client-transport:http:terminate-405-ok': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'A backend that refuses `DELETE` causes no error.',
  }),
  'client-transport:http:body-derived-headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#standard-request-headers',
    revisions: 'modern',
    behaviour:
      'Requests to a modern backend carry `Mcp-Method` and, where one is due, `Mcp-Name`, under the names the backend knows.',
  }),
  'client-transport:http:custom-param-headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters',
    revisions: 'modern',
    behaviour: '`Mcp-Param-*` headers reach a modern backend encoded as its schema asks.',
  }),
  'client-transport:http:vendor-name-param-header': notApplicable(sdkApi, {
    spec: 'sdk',
    revisions: 'modern',
    behaviour: "A vendor's method names its own field for `Mcp-Name`.",
  }),
  'client-transport:http:stateless-ignores-session-id': held({
    spec: '2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions',
    revisions: 'modern',
    behaviour: 'A modern backend gets only POSTs, and a session id that it sends is not sent back.',
  }),
} satisfies Record<string, Requirement>;
