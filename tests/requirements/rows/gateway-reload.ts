/** Config and policy that change while the program runs. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayReload = {
  'gateway:reload:policy': held({
    spec: 'gateway',
    behaviour:
      'The next request, and the next round of a pending call, are decided by the policy in force at that time; records and permits name its generation.',
  }),
  'gateway:reload:atomic': held({
    spec: 'gateway',
    behaviour:
      'However often the config changes under load, no answer is decided by two generations, and none is lost.',
  }),
  'gateway:reload:broken': held({
    spec: 'gateway',
    behaviour: 'A broken file changes nothing, and the log says what is wrong and where.',
  }),
  'gateway:reload:backends': held({
    spec: 'gateway',
    behaviour:
      'Live clients of both eras see a backend that is added, removed or changed: they are notified of changed lists, and calls in flight finish.',
  }),
  'gateway:reload:endpoints': held({
    spec: 'gateway',
    behaviour:
      'An added endpoint is served at once; sessions and streams of a removed endpoint end, and its path is unknown.',
  }),
  'gateway:reload:identity': held({
    spec: 'gateway',
    behaviour: 'The new config authenticates callers at once, and streams of callers that it does not accept end.',
  }),
  'gateway:reload:triggers': held({
    spec: 'gateway',
    behaviour: 'SIGHUP and a change of the files reload the config, also if a file is replaced by another.',
  }),
  'gateway:reload:never-shutting-down': held({
    spec: 'gateway',
    behaviour:
      'A call whose backend is replaced or removed by a reload finishes there, or fails as `backend_unavailable` or with the end of its session, at every stage; never as `shutting_down`.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
