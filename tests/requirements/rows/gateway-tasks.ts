/** Tasks, through one endpoint or a merged one, and across the eras. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayTasks = {
  'gateway:tasks:ids': held({
    spec: 'gateway',
    behaviour:
      'The id of a task opens only at the endpoint and for the principal that made it, also after a restart and at other replicas.',
  }),
} satisfies Record<string, Requirement>;
