/** What crosses between the eras. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayBridge = {
  'gateway:bridge:four-pairs': held({
    spec: '2026-07-28/basic/versioning#compatibility-matrix',
    behaviour: '`tools/call` works for both eras of client with both eras of backend.',
  }),
  'gateway:bridge:legacy-elicitation-on-modern': held({
    spec: '2026-07-28/basic/patterns/mrtr#basic-workflow',
    revisions: 'legacy',
    behaviour: 'A legacy client answers, as a JSON-RPC request, what its modern backend asked with `input_required`.',
  }),
  'gateway:bridge:parked-call': held({
    spec: '2026-07-28/basic/patterns/mrtr#basic-workflow',
    revisions: 'modern',
    behaviour:
      'A modern client gets `input_required` when its legacy backend sends a server request, and its retry finishes the same call.',
  }),
  'gateway:bridge:legacy-initialize': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: '`initialize` of a legacy client is answered from the discovery of its modern backend.',
  }),
  'gateway:bridge:modern-discover': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: '`server/discover` of a modern client is answered from the `initialize` result of its legacy backend.',
  }),
  'gateway:bridge:envelope-added': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'Requests of a legacy client carry its revision, info and capabilities in the envelope that a modern backend needs.',
  }),
  'gateway:bridge:rounds-state': held({
    spec: '2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow',
    revisions: 'legacy',
    behaviour:
      'Each round repeats the request under a new id with the exact `requestState`, or none where none was given.',
  }),
  'gateway:bridge:rounds-bounded': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Rounds are bounded in number and time.',
  }),
  'gateway:bridge:results-stripped': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Results of a modern backend reach a legacy client without the members of 2026-07-28.',
  }),
  'gateway:bridge:results-completed': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'Results of a legacy backend reach a modern client with `resultType` and, where due, cache hints.',
  }),
  'gateway:bridge:state-sealed': held({
    spec: '2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow',
    revisions: 'modern',
    behaviour:
      'A `requestState` that was changed, is too old or belongs to another request is answered -32602, and the pending call stays pending.',
  }),
  'gateway:bridge:state-once': held({
    spec: '2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow',
    revisions: 'modern',
    behaviour: 'A pending call is resumed at most once.',
  }),
  'gateway:bridge:parked-expires': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'A pending call whose client does not retry in time is cancelled at the backend, and all of its state is released.',
  }),
  'gateway:bridge:capabilities-narrowed': held({
    spec: 'gateway',
    behaviour: 'A backend is not offered what the client did not declare, down to modes, across eras too.',
  }),
  'gateway:bridge:notifications-absorbed': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Notifications of a legacy client that have no meaning for a modern backend are dropped.',
  }),
  'gateway:bridge:set-level': held({
    spec: '2026-07-28/server/utilities/logging#per-request-log-level',
    revisions: 'legacy',
    behaviour: 'The level that a legacy client set goes along with each of its requests to a modern backend.',
  }),
  'gateway:bridge:log-level-shared': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'Log levels of modern requests become one session level at a legacy backend, and messages are filtered per request.',
  }),
  'gateway:bridge:sampling-roots': held({
    spec: 'gateway',
    behaviour: 'Sampling and roots cross the eras as elicitation does.',
  }),
  'gateway:bridge:second-ask': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A second server request that arrives while the first is unanswered is part of the next round.',
  }),
  'gateway:bridge:partial-answers': held({
    spec: '2026-07-28/basic/patterns/mrtr#error-handling',
    revisions: 'modern',
    behaviour: 'Questions that a partial answer left out are asked again.',
  }),
  'gateway:bridge:ask-answered-error': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'An error in answer to a server request becomes `cancel` for an elicitation, and an error of the call for sampling and roots.',
  }),
  'gateway:bridge:state-alone': held({
    spec: '2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow',
    revisions: 'legacy',
    behaviour: '`input_required` with a state and no questions is repeated at once, within bounds.',
  }),
  'gateway:bridge:unknown-result-type': held({
    spec: '2026-07-28/basic#resulttype',
    revisions: 'legacy',
    behaviour: 'Any other result type is `backend_invalid`.',
  }),
  'gateway:bridge:subscribe-to-listen': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'Subscriptions and list changes of a legacy session use one `subscriptions/listen` at its modern backend.',
  }),
  'gateway:bridge:listen-to-subscribe': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      '`subscriptions/listen` of a modern client uses the GET stream and `resources/subscribe` of its legacy backend.',
  }),
  'gateway:bridge:cancel-down': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: "A legacy cancellation closes the modern backend's response, or is sent on over stdio.",
  }),
  'gateway:bridge:cancel-up': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'A closed modern stream becomes `notifications/cancelled` at a legacy backend, and its stream is closed.',
  }),
  'gateway:bridge:progress-remapped': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'Progress of a pending call goes to the token of the retry.',
  }),
  'gateway:bridge:errors-mapped': held({
    spec: 'gateway',
    behaviour: "Error codes of one era reach the other as that era's own.",
  }),
  'gateway:bridge:url-elicitation': held({
    spec: 'gateway',
    behaviour: 'URL elicitation crosses the eras, with an id for 2025-11-25 clients and without one for modern ones.',
  }),
  'gateway:bridge:older-content': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Content that an older revision does not know is degraded in a documented way, never lost in silence.',
  }),
  'gateway:bridge:ask-outside-call': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A server request that no modern request can carry is refused with an error from the failure table.',
  }),
  'gateway:bridge:ask-attribution': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'A call that may cause server requests has a session or process of its own if server requests do not name their call.',
  }),
  'gateway:bridge:param-headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#client-behavior',
    revisions: 'legacy',
    behaviour: 'Parameter headers for a modern backend are made from its schema, which is read again once on -32020.',
  }),
  'gateway:bridge:all-revision-pairs': held({
    spec: 'gateway',
    behaviour: 'All 25 pairs of client and backend revision work.',
  }),
  'gateway:bridge:any-replica': held({
    spec: '2026-07-28/basic#statelessness',
    revisions: 'modern',
    behaviour: 'If a modern call needs no state between its rounds, any replica can serve each round.',
  }),
  'gateway:bridge:shared-credential-state': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      "Where principals share a credential, a backend's `requestState` is sealed to the principal that got it.",
  }),
  'gateway:tasks:stripped': held({
    spec: 'gateway',
    behaviour: 'Tasks are taken out of the capabilities in both directions.',
  }),
  'gateway:tasks:refused': held({
    spec: 'gateway',
    behaviour: 'Methods of tasks are refused with a named reason, and reach no backend.',
  }),
} satisfies Record<string, Requirement>;
