/** Tasks, through one endpoint or a merged one, and across the eras. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayTasks = {
  'gateway:tasks:ids': held({
    spec: 'gateway',
    behaviour:
      'The id of a task opens only at the endpoint and for the principal that made it, also after a restart and at other replicas.',
  }),
  'gateway:tasks:carried': held({
    spec: '2026-07-28/basic/versioning#extensions',
    revisions: 'modern',
    behaviour:
      'Tasks of a modern backend pass, with their updates, cancellations and results; clients see their own ids and names.',
  }),
  'gateway:tasks:declared': held({
    spec: '2026-07-28/basic/versioning#extensions',
    revisions: 'modern',
    behaviour:
      'A request that does not declare the extension makes no task, and is answered -32021 where it is about one.',
  }),
  'gateway:tasks:policy': held({
    spec: 'gateway',
    behaviour:
      'Requests about a task are decided like its tool, and questions of a task like those of a call; polls are no calls for rates.',
  }),
  'gateway:tasks:polled': held({
    spec: 'gateway',
    behaviour:
      'A legacy client, and at endpoints that say so a modern one without tasks, gets the result of a tool that runs only as a task; it is asked on the way, and its cancellation cancels the task.',
  }),
  'gateway:tasks:kit': held({
    spec: 'gateway',
    behaviour: 'The ten scenarios of the official kit for tasks give the same at both kinds of endpoints as directly.',
  }),
  'gateway:tasks:core': held({
    spec: '2025-11-25/basic/utilities/tasks#result-retrieval',
    revisions: 'legacy',
    behaviour: 'Waiting for the result of a task has a time limit, and what a backend says of another task is refused.',
  }),
  'gateway:tasks:waited-for': held({
    spec: 'gateway',
    behaviour:
      'A tool of 2025-11-25 that runs only as a task is called as one for clients that ask for none; they get its result.',
  }),
} satisfies Record<string, Requirement>;
