/** The log: what it tells, how much of it, and that it is never in the way. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayLog = {
  'gateway:log:stalled-reader': held({
    spec: 'gateway',
    behaviour:
      'A reader of stderr that stalls delays nothing: log lines wait within a bound, are dropped beyond it, and one line counts them.',
  }),
  'gateway:log:closed-reader': held({
    spec: 'gateway',
    behaviour: 'A reader of stderr that goes away does not end the program.',
  }),
} satisfies Record<string, Requirement>;
