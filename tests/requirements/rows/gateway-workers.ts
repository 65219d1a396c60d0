/** Several processes that are one gateway. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayWorkers = {
  'gateway:workers:sessions': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'With several workers, requests, streams, answers, cancellations and DELETE of a session work at every one of them.',
  }),
  'gateway:workers:pending': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A retry of a pending call is served wherever it arrives.',
  }),
  'gateway:workers:replaced': held({
    spec: 'gateway',
    behaviour:
      'A worker that dies is replaced, its sessions with HTTP backends go on, and connections that it had not taken go to others. One that hangs is not waited for without end.',
  }),
  'gateway:workers:forwarded': held({
    spec: 'gateway',
    behaviour:
      'Requests are taken from a process of the same gateway, on a connection that it has opened with its key.',
  }),
  'gateway:workers:run': held({
    spec: 'gateway',
    behaviour: 'Signals, metrics and wrong settings concern all workers.',
  }),
  'gateway:workers:readiness': held({
    spec: 'gateway',
    behaviour: 'Every worker answers /readyz for all of them, and names those that are missing.',
  }),
  'gateway:workers:reload': held({
    spec: 'gateway',
    behaviour: 'A reload is applied by all workers or by none; a worker that is replaced has the config in force.',
  }),
  'gateway:workers:audit': held({
    spec: 'gateway',
    behaviour: 'The audit records of all workers go to one place, by one writer; one that fails stops all workers.',
  }),
  'gateway:workers:status': held({
    spec: 'gateway',
    behaviour: '`bascule status` sums up what the workers have, and shows each.',
  }),
  'gateway:workers:log': held({
    spec: 'gateway',
    behaviour: 'Lines of the log name the worker.',
  }),
  'gateway:workers:redis': held({
    spec: 'gateway',
    behaviour: 'With a store in Redis, workers share sessions, streams to resume, ends of sessions and pending calls.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
