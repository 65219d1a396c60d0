/** Config and policy that change while the program runs. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayReload = {
  'gateway:reload:policy': held({
    spec: 'gateway',
    behaviour:
      'The next request, and the next round of a call that waits, is decided by the policy of its moment; records and permits name its generation.',
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
      'A backend that is added, removed or changed reaches live clients of both eras: lists that changed are told of, and calls in flight finish.',
  }),
  'gateway:reload:endpoints': held({
    spec: 'gateway',
    behaviour:
      'An endpoint that is added is there at once; of one that is removed sessions and streams end, and its path is unknown.',
  }),
  'gateway:reload:identity': held({
    spec: 'gateway',
    behaviour: 'Who may come in is decided by the new config at once, and streams of those who may not end.',
  }),
  'gateway:reload:triggers': held({
    spec: 'gateway',
    behaviour: 'SIGHUP and a change of the files read the config again, also where a file takes the place of another.',
  }),
  'gateway:reload:never-shutting-down': held({
    spec: 'gateway',
    behaviour:
      'A call whose backend a reload replaces or removes finishes there, or fails as `backend_unavailable` or with the end of its session, at whatever stage it is; never as `shutting_down`.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
