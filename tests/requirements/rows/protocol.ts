/** Ids, notifications, cancellation, errors, progress, time limits and `_meta`, in every revision. */
import type { Requirement } from '../requirement.ts';
import { divergent, held } from '../requirement.ts';

export const protocol = {
  'protocol:request-id:unique': held({
    spec: '2025-11-25/basic#requests',
    behaviour: 'The ids that the gateway uses in one session with a backend are never reused, never null and never 0.',
  }),
  'protocol:request-id:caller-supplied': held({
    spec: 'sdk',
    revisions: 'modern',
    behaviour:
      'Whatever id the client chose comes back on its answer and names its subscription; the backend sees another.',
  }),
  'protocol:notifications:no-response': held({
    spec: '2025-11-25/basic#notifications',
    behaviour: 'A notification brings no JSON-RPC answer, neither to a client nor to a backend, known method or not.',
  }),
  'protocol:cancel:abort-signal': held({
    spec: '2025-11-25/basic/utilities/cancellation#cancellation-flow',
    behaviour: 'When a client cancels a call, the backend is told to stop, and the client’s session stays usable.',
  }),
  'protocol:cancel:abort-scoped': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    behaviour: 'Cancelling one call leaves the others of the same client running.',
  }),
  'protocol:cancel:handler-abort-propagates': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    behaviour: 'The cancellation reaches the backend under the id that the backend knows.',
  }),
  'protocol:cancel:in-flight': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    behaviour: 'A cancelled call is not answered, even where the backend answers all the same.',
  }),
  'protocol:cancel:initialize-not-cancellable': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    revisions: 'legacy',
    behaviour:
      'A gateway that gives up waiting for `initialize` closes the connection and sends no cancellation for it.',
  }),
  'protocol:cancel:late-response-ignored': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    behaviour:
      'An answer that a backend sends after the cancellation is dropped and counted, and affects no other call.',
  }),
  'protocol:cancel:server-survives': held({
    spec: 'sdk',
    behaviour: 'After a cancellation the same session and the same backend connection serve the next request.',
  }),
  'protocol:cancel:server-to-client': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    revisions: 'legacy',
    behaviour:
      'When a backend cancels its server request, it is cancelled at the client, under the id that the client knows.',
  }),
  'protocol:cancel:stream-frame': held({
    spec: '2026-07-28/basic/patterns/cancellation#transport-specific-cancellation',
    revisions: 'modern',
    behaviour: 'On stdio, abandoning a modern call sends the backend exactly one `notifications/cancelled`.',
  }),
  'protocol:cancel:unknown-id-ignored': held({
    spec: '2025-11-25/basic/utilities/cancellation#error-handling',
    behaviour: 'A cancellation of an unknown or finished request is accepted, is not forwarded, and has no effect.',
  }),
  'protocol:cancel:sender-targeting': held({
    spec: '2025-11-25/basic/utilities/cancellation#behavior-requirements',
    behaviour:
      'The gateway cancels only its own requests that are still in flight; a request of the other direction with the same id is not affected.',
  }),
  'protocol:error:connection-closed': held({
    spec: 'sdk',
    behaviour: 'When a backend goes away, every call in flight to it is answered with an error at once.',
  }),
  'protocol:error:internal-error': held({
    spec: '2025-11-25/basic#responses',
    behaviour: '-32603 of a backend reaches the client as it is; a failure of our own becomes an opaque -32603.',
  }),
  'protocol:error:invalid-params': held({
    spec: '2025-11-25/basic#responses',
    behaviour: '-32602 of a backend reaches the client with its message and data.',
  }),
  'protocol:error:method-not-found': held({
    spec: '2025-11-25/basic#responses',
    behaviour: 'A method that neither the gateway nor the backend knows is answered -32601.',
  }),
  'protocol:error:null-id': held({
    spec: 'sdk',
    behaviour: 'An error without a usable id that a backend sends in answer to a POST settles the call of that POST.',
  }),
  'protocol:meta:related-task': held({
    spec: '2025-11-25/basic/utilities/tasks#related-task-metadata',
    revisions: 'legacy',
    behaviour: 'A message names the task that it belongs to.',
  }),
  'meta:request-to-handler': held({
    spec: '2025-11-25/basic#_meta',
    behaviour: "Members of a request's `_meta` that the protocol does not own reach the backend unchanged.",
  }),
  'meta:result-to-client': held({
    spec: '2025-11-25/basic#_meta',
    behaviour: "Members of a result's `_meta` that the protocol does not own reach the client unchanged.",
  }),
  'protocol:progress:callback': held({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    behaviour: 'Progress arrives in the order sent, with progress, total and message unchanged, before the result.',
  }),
  'protocol:progress:token-injected': held({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    behaviour:
      "A token of the client becomes one of the gateway's own at the backend, and is turned back on every notification.",
  }),
  'protocol:progress:token-unique': held({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    behaviour:
      'Calls that run at the same time have distinct tokens at the backend, even where their clients chose the same one.',
  }),
  'protocol:progress:monotonic': divergent({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    behaviour: 'Progress values rise with every notification.',
    reason:
      'The sender of progress must make values rise. The gateway passes on what the backend sent, and neither hides nor invents progress.',
  }),
  'protocol:progress:stops-after-completion': held({
    spec: '2025-11-25/basic/utilities/progress#behavior-requirements',
    behaviour: 'Nothing about a call reaches the client after its answer.',
  }),
  'protocol:progress:late-dropped-by-client': held({
    spec: 'sdk',
    behaviour: 'Progress that a backend reports after its answer is dropped by the gateway.',
  }),
  'protocol:progress:no-token': held({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    behaviour: 'Where the client gave no token, it gets no progress notification.',
  }),
  'protocol:progress:client-to-server': held({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    revisions: 'legacy',
    behaviour:
      'Progress that a client reports on a server request reaches the backend under the token that the backend gave.',
  }),
  'protocol:timeout:basic': held({
    spec: '2025-11-25/basic/lifecycle#timeouts',
    behaviour: 'A backend that stays silent beyond its limit fails the call with a named reason.',
  }),
  'protocol:timeout:max-total': held({
    spec: '2025-11-25/basic/lifecycle#timeouts',
    behaviour: 'The total limit ends a call even while progress keeps coming.',
  }),
  'protocol:timeout:reset-on-progress': held({
    spec: '2025-11-25/basic/lifecycle#timeouts',
    behaviour: 'Every progress notification starts the idle limit anew.',
  }),
  'protocol:timeout:sends-cancellation': held({
    spec: '2025-11-25/basic/lifecycle#timeouts',
    behaviour: 'A call that ran out of time is cancelled at the backend.',
  }),
  'protocol:timeout:session-survives': held({
    spec: '2025-11-25/basic/lifecycle#timeouts',
    behaviour: 'After a call that ran out of time, the same session serves the next request.',
  }),
  'protocol:timeout:session-default': held({
    spec: '2025-11-25/basic/lifecycle#timeouts',
    behaviour: 'Limits have defaults, and the configuration of one backend overrides them only for that backend.',
  }),
} satisfies Record<string, Requirement>;
