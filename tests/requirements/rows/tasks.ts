/** Tasks of 2025-11-25, carried between clients and backends of that revision. */
import type { Requirement } from '../requirement.ts';
import { divergent, held, notApplicable } from '../requirement.ts';

const noLists =
  'Lists of tasks are not declared: the gateway keeps no record of tasks, and the list of a backend may have tasks of other principals.';
const noClientTasks =
  'No client is declared to backends as one that runs tasks, and what backends ask is sent to clients without `task`.';

export const tasks = {
  'tasks:auth:context-isolation': held({
    spec: '2025-11-25/basic/utilities/tasks#task-isolation-and-access-control',
    revisions: 'legacy',
    behaviour: 'A task is visible only to the principal that made it.',
  }),
  'tasks:bidirectional': notApplicable(noClientTasks, {
    spec: '2025-11-25/basic/utilities/tasks#definitions',
    revisions: 'legacy',
    behaviour: 'A backend may make tasks at a client, and follow them.',
  }),
  'tasks:cancel:no-handler-abort': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Cancelling a task marks it cancelled, whatever its work still does.',
  }),
  'tasks:cancel:remains-cancelled': held({
    spec: '2025-11-25/basic/utilities/tasks#task-cancellation',
    revisions: 'legacy',
    behaviour: 'A cancelled task stays cancelled though its work finishes later.',
  }),
  'tasks:cancel:terminal-rejected': held({
    spec: '2025-11-25/basic/utilities/tasks#task-cancellation',
    revisions: 'legacy',
    behaviour: 'Cancelling a finished task is answered -32602.',
  }),
  'tasks:cancel:working': held({
    spec: '2025-11-25/basic/utilities/tasks#task-cancellation',
    revisions: 'legacy',
    behaviour: 'Cancelling a running task turns it into a cancelled one.',
  }),
  'tasks:create:ttl-honored': held({
    spec: '2025-11-25/basic/utilities/tasks#ttl-and-resource-management',
    revisions: 'legacy',
    behaviour: 'The lifetime that the backend applies is the one that the client reads.',
  }),
  'tasks:create:via-tool-call': held({
    spec: '2025-11-25/basic/utilities/tasks#creating-tasks',
    revisions: 'legacy',
    behaviour: 'A tool called as a task returns the task.',
  }),
  'tasks:get': held({
    spec: '2025-11-25/basic/utilities/tasks#getting-tasks',
    revisions: 'legacy',
    behaviour: 'Status, lifetime, dates and status message of a task come back as the backend gave them.',
  }),
  'tasks:lifecycle:initial-working': held({
    spec: '2025-11-25/basic/utilities/tasks#task-status-lifecycle',
    revisions: 'legacy',
    behaviour: 'A new task is `working`.',
  }),
  'tasks:lifecycle:input-required': held({
    spec: '2025-11-25/basic/utilities/tasks#input-required-status',
    revisions: 'legacy',
    behaviour: 'A task that waits for the client has the status `input_required` until it has the answer.',
  }),
  'tasks:list:invalid-cursor': notApplicable(noLists, {
    spec: '2025-11-25/basic/utilities/tasks#protocol-errors',
    revisions: 'legacy',
    behaviour: 'A list of tasks with a cursor that was not issued is answered -32602.',
  }),
  'tasks:list:pagination': notApplicable(noLists, {
    spec: '2025-11-25/basic/utilities/tasks#listing-tasks',
    revisions: 'legacy',
    behaviour: 'Pages of tasks can be followed to the end.',
  }),
  'tasks:no-capability:ignore-task-param': held({
    spec: '2025-11-25/basic/utilities/tasks#task-support-and-handling',
    revisions: 'legacy',
    behaviour: 'Towards a side that has no tasks, a request to run as one is served as a plain call.',
  }),
  'tasks:progress:after-create': held({
    spec: '2025-11-25/basic/utilities/tasks#task-progress-notifications',
    revisions: 'legacy',
    behaviour: 'Progress continues under the first token until the task is finished.',
  }),
  'tasks:request-cancel:no-task-cancel': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Cancelling the request that made a task does not cancel the task.',
  }),
  'tasks:result:failed': held({
    spec: '2025-11-25/basic/utilities/tasks#task-execution-errors',
    revisions: 'legacy',
    behaviour: 'The result of a failed task is the failure of its tool.',
  }),
  'tasks:result:related-task-meta': held({
    spec: '2025-11-25/basic/utilities/tasks#related-task-metadata',
    revisions: 'legacy',
    behaviour: 'The result of a task names it in `_meta`.',
  }),
  'tasks:result:terminal': held({
    spec: '2025-11-25/basic/utilities/tasks#result-retrieval',
    revisions: 'legacy',
    behaviour: 'The result of a finished task is what the call would have returned.',
  }),
  'tasks:side-channel:drain-fifo': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Messages that waited come in order before the result.',
  }),
  'tasks:side-channel:drop-on-cancel': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Messages that waited for a cancelled task are dropped.',
  }),
  'tasks:side-channel:elicitation': held({
    spec: '2025-11-25/basic/utilities/tasks#input-required-status',
    revisions: 'legacy',
    behaviour:
      'A question in the middle of a task reaches the client that waits for its result, and the answer comes back.',
  }),
  'tasks:side-channel:queue': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Messages of a task are queued, within bounds, until a client asks for its result.',
  }),
  'tasks:side-channel:sampling': held({
    spec: '2025-11-25/basic/utilities/tasks#input-required-status',
    revisions: 'legacy',
    behaviour: 'A completion asked for in the middle of a task comes from the client that waits for its result.',
  }),
  'tasks:side-channel:stream': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Waiting for the result of a running task brings its messages first.',
  }),
  'tasks:status-notification': held({
    spec: '2025-11-25/basic/utilities/tasks#task-status-notification',
    revisions: 'legacy',
    behaviour: 'Status notifications of a task carry all its fields.',
  }),
  'tasks:tool-level:forbidden-with-task-32601': held({
    spec: '2025-11-25/basic/utilities/tasks#tool-level-negotiation',
    revisions: 'legacy',
    behaviour: 'A tool that cannot run as a task refuses to, with -32601.',
  }),
  'tasks:tool-level:required-no-task-32601': divergent({
    reason: 'The gateway makes the call as a task in the place of a client that did not, and answers with its result.',
    spec: '2025-11-25/basic/utilities/tasks#tool-level-negotiation',
    revisions: 'legacy',
    behaviour: 'A tool that runs only as a task refuses a plain call with -32601.',
  }),
  'tasks:unknown-id': held({
    spec: '2025-11-25/basic/utilities/tasks#protocol-errors',
    revisions: 'legacy',
    behaviour: 'An unknown task is answered -32602.',
  }),
} satisfies Record<string, Requirement>;
