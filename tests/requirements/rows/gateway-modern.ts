/** 2026-07-28: every request carries everything. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayModern = {
  'gateway:modern:header-mismatch': held({
    spec: '2026-07-28/basic/transports/streamable-http#server-validation',
    revisions: 'modern',
    behaviour: 'A version, method or name header other than the body says is 400 with -32020 and the id.',
  }),
  'gateway:modern:header-missing': held({
    spec: '2026-07-28/basic/transports/streamable-http#server-validation',
    revisions: 'modern',
    behaviour: 'A request without one of those headers is 400 with -32020.',
  }),
  'gateway:modern:header-sentinel': held({
    spec: '2026-07-28/basic/transports/streamable-http#value-encoding',
    revisions: 'modern',
    behaviour: 'The base64 form is decoded before comparing, in `Mcp-Name` and `Mcp-Param-*` and nowhere else.',
  }),
  'gateway:modern:mismatch-before-support': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A header that disagrees is -32020 even where the revision is unknown.',
  }),
  'gateway:modern:param-missing': held({
    spec: '2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers',
    revisions: 'modern',
    behaviour: 'An argument that has a header of its own, and comes without it, is 400 with -32020.',
  }),
  'gateway:modern:param-unbacked': held({
    spec: '2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers',
    revisions: 'modern',
    behaviour: 'Such a header without its argument, or with a null one, is 400 with -32020.',
  }),
  'gateway:modern:param-differs': held({
    spec: '2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers',
    revisions: 'modern',
    behaviour: 'Such a header with another value is 400 with -32020; integers are compared as numbers.',
  }),
  'gateway:modern:param-undecodable': held({
    spec: '2026-07-28/basic/transports/streamable-http#value-encoding',
    revisions: 'modern',
    behaviour: 'Such a header that cannot be decoded, or holds invalid characters, is 400 with -32020.',
  }),
  'gateway:modern:param-unrecognised': held({
    spec: '2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers',
    revisions: 'modern',
    behaviour: 'A parameter header that the tool does not define is passed on and not judged.',
  }),
  'gateway:modern:meta-missing': held({
    spec: '2026-07-28/basic#_meta',
    revisions: 'modern',
    behaviour: 'An envelope without revision or capabilities is 400 with -32602.',
  }),
  'gateway:modern:revision-unsupported': held({
    spec: '2026-07-28/basic/versioning#protocol-version-negotiation',
    revisions: 'modern',
    behaviour:
      'A revision that is unknown or outside the profile is 400 with -32022, naming the supported and the requested.',
  }),
  'gateway:modern:capability-missing': held({
    spec: '2026-07-28/basic#_meta',
    revisions: 'modern',
    behaviour: 'A call that cannot go on without a capability that the client lacks is 400 with -32021, naming it.',
  }),
  'gateway:modern:method-404': held({
    spec: '2026-07-28/basic/transports/streamable-http#protocol-version-header',
    revisions: 'modern',
    behaviour: 'A method that is unknown, removed or not advertised is 404 with -32601.',
  }),
  'gateway:modern:response-400': held({
    spec: '2026-07-28/basic/transports/streamable-http#sending-messages',
    revisions: 'modern',
    behaviour: 'A JSON-RPC response as a body is 400 with -32600.',
  }),
  'gateway:modern:notification-202': held({
    spec: '2026-07-28/basic/transports/streamable-http#sending-messages',
    revisions: 'modern',
    behaviour: 'A notification is 202, with or without the headers of requests.',
  }),
  'gateway:modern:batch-refused': held({
    spec: '2026-07-28/basic/transports/streamable-http#sending-messages',
    revisions: 'modern',
    behaviour: 'An array is 400 with -32600, `unsupported_mcp_batch`.',
  }),
  'gateway:modern:session-headers-ignored': held({
    spec: '2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions',
    revisions: 'modern',
    behaviour: '`Mcp-Session-Id` and `Last-Event-ID` change nothing and are not echoed.',
  }),
  'gateway:modern:get-delete-405': held({
    spec: '2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions',
    revisions: 'modern',
    behaviour: 'GET and DELETE with the modern version header are 405 with `Allow: POST, OPTIONS`.',
  }),
  'gateway:modern:close-cancels': held({
    spec: '2026-07-28/basic/transports/streamable-http#cancellation',
    revisions: 'modern',
    behaviour: 'A client that closes its response stream has cancelled: the backend is told, and nothing more is sent.',
  }),
  'gateway:modern:close-before-headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#cancellation',
    revisions: 'modern',
    behaviour: 'A connection closed before any header went out cancels too.',
  }),
  'gateway:modern:stream-own-notifications': held({
    spec: '2026-07-28/basic/transports/streamable-http#receiving-messages',
    revisions: 'modern',
    behaviour: 'The stream of a request holds only what belongs to it, and never a JSON-RPC request.',
  }),
  'gateway:modern:result-type': held({
    spec: '2026-07-28/basic#resulttype',
    revisions: 'modern',
    behaviour: 'Every result has a `resultType`.',
  }),
  'gateway:modern:cache-hints': held({
    spec: '2026-07-28/server/utilities/caching#cacheable-results',
    revisions: 'modern',
    behaviour: 'The six cacheable operations have `ttlMs` and `cacheScope`; `input_required` never has.',
  }),
  'gateway:modern:input-required-untouched': held({
    spec: '2026-07-28/basic/patterns/mrtr#inputrequiredresult',
    revisions: 'modern',
    behaviour: '`input_required` of a modern backend and the retry pass unchanged, and nothing is held between them.',
  }),
  'gateway:modern:no-input-required-elsewhere': held({
    spec: '2026-07-28/basic/patterns/mrtr#supported-requests',
    revisions: 'modern',
    behaviour: '`input_required` is answered only to `tools/call`, `prompts/get` and `resources/read`.',
  }),
  'gateway:modern:listen-ack-first': held({
    spec: '2026-07-28/basic/patterns/subscriptions#acknowledgment',
    revisions: 'modern',
    behaviour: 'A subscription begins with its acknowledgement, which comes at once.',
  }),
  'gateway:modern:listen-own-id': held({
    spec: '2026-07-28/basic/patterns/subscriptions#receiving-notifications',
    revisions: 'modern',
    behaviour: "Every message of a subscription carries the id of this client's request, not the one used upstream.",
  }),
  'gateway:modern:listen-filter': held({
    spec: '2026-07-28/basic/patterns/subscriptions#opening-a-stream',
    revisions: 'modern',
    behaviour:
      'A subscription holds only the types that were asked for, and the same change reaches every subscription that asked.',
  }),
  'gateway:modern:listen-shutdown': held({
    spec: '2026-07-28/basic/patterns/subscriptions#graceful-closure',
    revisions: 'modern',
    behaviour: 'A subscription that the gateway ends gets its result, and then the stream closes.',
  }),
  'gateway:modern:listen-unlimited': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A subscription has no total time limit.',
  }),
  'gateway:modern:listen-counted-once': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'A subscription counts once against `limits.listenStreams` while it is open, and not at all afterwards, however it ended.',
  }),
  'gateway:modern:codes-mapped': held({
    spec: '2026-07-28/basic#error-codes',
    revisions: 'modern',
    behaviour: '-32002, -32042 and undefined codes of the reserved range never reach a modern client.',
  }),
  'gateway:modern:vocabulary': held({
    spec: '2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions',
    revisions: 'modern',
    behaviour: 'No modern exchange mentions sessions.',
  }),
} satisfies Record<string, Requirement>;
