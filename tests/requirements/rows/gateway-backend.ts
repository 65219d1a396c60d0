/** Backends: how they are found, kept, limited and survived. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayBackend = {
  'gateway:backend:202-fails-fast': held({
    spec: 'gateway',
    behaviour: '202 in answer to a request fails the call at once.',
  }),
  'gateway:backend:204-fails-fast': held({
    spec: 'gateway',
    behaviour: '204 in answer to a request fails the call at once.',
  }),
  'gateway:backend:empty-stream-fails-fast': held({
    spec: 'gateway',
    behaviour: 'An event stream that ends without a single event fails the call at once.',
  }),
  'gateway:backend:error-without-id': held({
    spec: 'gateway',
    behaviour: 'An error body without an id settles the POST that it answers.',
  }),
  'gateway:backend:duplicate-response': held({
    spec: 'gateway',
    behaviour: 'A second answer to one call is dropped and counted.',
  }),
  'gateway:backend:unknown-response': held({
    spec: 'gateway',
    behaviour: 'An answer to no request is dropped and counted.',
  }),
  'gateway:backend:cut-stream-resumed': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'A stream that is cut after an event id is resumed with `Last-Event-ID`.',
  }),
  'gateway:backend:cut-stream-bounded': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Resuming is tried a bounded number of times, and the count is reset only by progress.',
  }),
  'gateway:backend:cut-stream-fails': held({
    spec: 'gateway',
    behaviour: 'A stream that is cut and cannot be resumed fails its call.',
  }),
  'gateway:backend:array-read': held({
    spec: '2025-03-26/basic#batching',
    revisions: ['2025-03-26'],
    behaviour: 'Arrays of a 2025-03-26 backend are read as the messages in them.',
  }),
  'gateway:backend:session-reopened': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A pooled session that the backend lost is opened again once, and what is safe to repeat is repeated.',
  }),
  'gateway:backend:session-400': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'Where a request in a session gets 400, a ping finds out whether the backend still knows the session: many servers answer 400 where the specification says 404.',
  }),
  'gateway:backend:call-never-twice': held({
    spec: 'gateway',
    behaviour: 'A `tools/call` that may have run is answered with an error, and never sent twice.',
  }),
  'gateway:backend:stream-never-given-up': held({
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    behaviour:
      'The standalone stream of a legacy backend is reopened for as long as its session lives, at bounded intervals. The log has one line for its loss and one for its return, subscriptions that depend on it end with a named error, and lists and resources that it may have missed count as changed.',
  }),
  'gateway:backend:streams-shared': held({
    spec: 'gateway',
    behaviour:
      'Sessions with the same credentials at a backend get its list changes on one stream, or through each other where `limits.streamsPerBackend` is reached; nothing else is shared. Reaching the limit is counted and logged.',
  }),
  'gateway:backend:stream-none': held({
    spec: '2026-07-28/basic/patterns/subscriptions#acknowledgment',
    revisions: 'modern',
    behaviour: 'A subscription at a legacy backend without a standalone stream gets an empty acknowledgement.',
  }),
  'gateway:backend:stdout-noise': held({
    spec: '2025-11-25/basic/transports#stdio',
    behaviour: 'Lines on stdout of a stdio backend that are no messages are skipped, counted and logged.',
  }),
  'gateway:backend:stderr-limited': held({
    spec: 'gateway',
    behaviour: 'What a stdio backend writes on stderr is kept in the log up to a limit.',
  }),
  'gateway:backend:oversized-event': held({
    spec: 'gateway',
    behaviour: 'An event or line that does not end within the limit fails its call, and memory stays bounded.',
  }),
  'gateway:backend:split-utf8': held({
    spec: 'gateway',
    behaviour: 'A character cut in half between two chunks arrives whole.',
  }),
  'gateway:backend:line-endings': held({
    spec: 'gateway',
    behaviour: 'Event streams with LF, CRLF and CR are read alike.',
  }),
  'gateway:backend:bad-header-annotation': held({
    spec: '2026-07-28/basic/transports/streamable-http#schema-extension',
    revisions: 'modern',
    behaviour: 'A tool whose `x-mcp-header` breaks the rules is left out of the list, with a warning.',
  }),
  'gateway:backend:network-ref': held({
    spec: '2026-07-28/basic#ref-resolution',
    behaviour: 'A `$ref` into the network is never fetched.',
  }),
  'gateway:backend:connections-reused': held({
    spec: 'gateway',
    behaviour: 'Calls share connections, processes and sessions; none is opened per call.',
  }),
  'gateway:backend:restart': held({
    spec: '2026-07-28/basic/transports/stdio#unexpected-termination',
    behaviour: 'A stdio backend that died is started again, with growing pauses.',
  }),
  'gateway:backend:shutdown-order': held({
    spec: '2026-07-28/basic/transports/stdio#shutdown',
    behaviour: 'A stdio backend is ended by closing stdin, then SIGTERM, then SIGKILL, each after a named time.',
  }),
  'gateway:backend:process-group': held({
    spec: 'gateway',
    behaviour: 'The children of a stdio backend end with it.',
  }),
  'gateway:backend:pool-busy': held({
    spec: 'gateway',
    behaviour: 'A pool of processes that is full queues within bounds and then refuses with `backend_busy`.',
  }),
  'gateway:backend:pool-idle': held({
    spec: 'gateway',
    behaviour: 'An unused process is ended after its idle time.',
  }),
  'gateway:backend:noise-is-idle': held({
    spec: 'gateway',
    behaviour: 'A process that writes only messages of no call is idle, and is ended after its idle time.',
  }),
  'gateway:backend:flood-paused': held({
    spec: 'gateway',
    behaviour:
      'A backend that sends more unsolicited messages than its budget is paused until the period ends; others are served.',
  }),
  'gateway:backend:flood-ended': held({
    spec: 'gateway',
    behaviour: 'A backend that is over its budget for several periods in a row is ended, and the log names it once.',
  }),
  'gateway:backend:flood-left': held({
    spec: 'gateway',
    behaviour:
      'A backend that closes or resets a stream while it is paused ends only that stream: its calls fail, others are served.',
  }),
  'gateway:backend:flood-backs-off': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'A standalone stream that was ended for a flood is reopened at growing intervals until it stays open without a flood.',
  }),
  'gateway:backend:flood-spares-quiet': held({
    spec: 'gateway',
    behaviour:
      'When the pipes and streams of a backend are over their shared budget, those that send little are not paused.',
  }),
  'gateway:backend:stderr-costs-little': held({
    spec: 'gateway',
    behaviour:
      'On stderr 25 lines count as one message. A flood there ends nothing while a call runs, and does not count after it.',
  }),
  'gateway:backend:late-answers-no-flood': held({
    spec: 'gateway',
    behaviour:
      'One answer to each cancelled or timed-out call counts as an answer, and its progress as that of a running call.',
  }),
  'gateway:backend:chatty-call-unpunished': held({
    spec: 'gateway',
    behaviour:
      'Progress and log messages of running calls have ten times the budget; over it they are slowed down, and nothing is ended.',
  }),
  'gateway:backend:own-process': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Each client session has a process of a legacy stdio backend to itself from its first call on.',
  }),
  'gateway:backend:list-process': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'Sessions that only list share one process of a stdio backend if they have the same credentials and capabilities.',
  }),
  'gateway:backend:list-process-changes': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A list change that a shared list process announces reaches every session that shares the process.',
  }),
  'gateway:backend:list-process-room': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'When all processes are in use, a list process is ended to make room for a call.',
  }),
  'gateway:backend:process-state': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A process that served a call is ended before its idle time only if the config says `state: none`.',
  }),
  'gateway:backend:fair-calls': held({
    spec: 'gateway',
    behaviour:
      'When a backend runs as many calls as its limit allows, waiting principals are served in round-robin order.',
  }),
  'gateway:backend:queue-left': held({
    spec: 'gateway',
    behaviour: 'A queued call leaves the queue when its client is gone.',
  }),
  'gateway:backend:crash-is-the-callers': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A process that answered and then crashed delays the next start only for its own caller.',
  }),
  'gateway:backend:process-share': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'When all processes are in use, the principal that has most loses an idle one to a principal that has fewer.',
  }),
  'gateway:backend:own-session': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Each client session has an upstream session of a legacy HTTP backend to itself.',
  }),
  'gateway:backend:shared-process': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'With `share: true` one process serves several clients, and ids, progress and subscriptions are kept apart.',
  }),
  'gateway:backend:modern-shared': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'One process or connection pool of a modern backend serves all principals.',
  }),
  'gateway:backend:limit-connect': held({
    spec: 'gateway',
    behaviour: 'A backend that cannot be connected to in time is `backend_unavailable`.',
  }),
  'gateway:backend:limit-first-byte': held({
    spec: 'gateway',
    behaviour: 'A backend that accepts a call and says nothing fails it in time.',
  }),
  'gateway:backend:limit-idle': held({
    spec: 'gateway',
    behaviour: 'A backend that falls silent in the middle fails the call in time.',
  }),
  'gateway:backend:long-lived-exempt': held({
    spec: 'gateway',
    behaviour: 'Long-lived requests are exempt from the total limit.',
  }),
  'gateway:backend:probe-cached': held({
    spec: '2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions',
    behaviour: 'The era of a backend is found once, and asked for again when the answer is old or proves wrong.',
  }),
  'gateway:backend:probe-modern-error': held({
    spec: '2026-07-28/basic/transports/stdio#backward-compatibility',
    behaviour: 'A recognised modern error never leads to `initialize`.',
  }),
  'gateway:backend:probe-silence': held({
    spec: '2026-07-28/basic/transports/stdio#backward-compatibility',
    behaviour: 'Silence of a stdio backend means legacy.',
  }),
  'gateway:backend:probe-fresh-process': held({
    spec: 'gateway',
    behaviour: 'A stdio backend whose process ends after `server/discover` gets `initialize` in a fresh process.',
  }),
  'gateway:backend:legacy-half': held({
    spec: '2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions',
    behaviour:
      'A legacy client is served by the legacy side of a stdio backend whose `supportedVersions` names only the modern era.',
  }),
  'gateway:backend:legacy-half-silence': held({
    spec: 'gateway',
    behaviour:
      'A backend that does not answer `initialize` is not classified as modern only: `initialize` is sent again, at the latest with the first legacy session.',
  }),
  'gateway:backend:probe-no-verdict': held({
    spec: 'gateway',
    behaviour: 'A network failure or a 401 says nothing about the era.',
  }),
  'gateway:backend:probe-bare': held({
    spec: 'gateway',
    behaviour: 'Probes declare no capabilities.',
  }),
  'gateway:backend:flapping-served': held({
    spec: 'gateway',
    behaviour:
      'A flapping backend is used for most of the time that it is available: the backoff is reset by its first answer, and crashes that one caller causes delay other callers by no more than the shortest backoff.',
  }),
} satisfies Record<string, Requirement>;
