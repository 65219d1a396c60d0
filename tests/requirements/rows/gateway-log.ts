/** The log and the audit trail: what they tell, how much of it, and that they are never in the way. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayLog = {
  'gateway:log:stalled-reader': held({
    spec: 'gateway',
    behaviour:
      'A stalled reader of stderr delays no request: log lines are queued up to a limit and dropped beyond it, and one line gives the number of dropped lines.',
  }),
  'gateway:log:closed-reader': held({
    spec: 'gateway',
    behaviour: 'A reader of stderr that goes away does not end the program.',
  }),
  'gateway:audit:one-record': held({
    spec: 'gateway',
    behaviour: 'A `subscriptions/listen` makes one audit record, with a bounded list of what it names.',
  }),
  'gateway:audit:fair-room': held({
    spec: 'gateway',
    behaviour:
      'While audit records are queued, no principal takes the room of others, and records of denied requests leave room for those of allowed ones.',
  }),
  'gateway:audit:told-once': held({
    spec: 'gateway',
    behaviour: 'Lost audit records are reported in one log line per interval, with their number.',
  }),
  'gateway:audit:on-failure-deny': held({
    spec: 'gateway',
    behaviour: 'With `audit.onFailure: deny` a request that cannot be recorded is refused with a named error.',
  }),
  'gateway:log:refusals': held({
    spec: 'gateway',
    behaviour:
      'Refused credentials, origins, names and denied requests are log lines, coalesced by address or principal, without secrets.',
  }),
  'gateway:audit:refusals': held({
    spec: 'gateway',
    behaviour: 'Refused credentials and unknown names are audit records, with the address where there is no principal.',
  }),
  'gateway:audit:sender': held({
    spec: 'gateway',
    behaviour:
      'An audit record has the address and the name of the client, a part of the id of its session, the request id and the trace id.',
  }),
  'gateway:log:backend-states': held({
    spec: 'gateway',
    behaviour: 'The log says when a backend starts, is ready, or is down, with the cause and its last lines of stderr.',
  }),
  'gateway:log:format': held({
    spec: 'gateway',
    behaviour: 'Every line of the log is JSON, or every line is text: one or the other on a stream.',
  }),
} satisfies Record<string, Requirement>;
