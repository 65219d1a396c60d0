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
  'gateway:tasks:kit': held({
    spec: 'gateway',
    behaviour: 'The ten scenarios of the official kit for tasks give the same at both kinds of endpoints as directly.',
  }),
} satisfies Record<string, Requirement>;
