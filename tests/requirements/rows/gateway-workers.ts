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
    behaviour: 'A worker that dies is replaced, and its sessions with HTTP backends go on.',
  }),
  'gateway:workers:forwarded': held({
    spec: 'gateway',
    behaviour: 'A forwarded request is accepted from a process of the same gateway, for one request, once.',
  }),
  'gateway:workers:run': held({
    spec: 'gateway',
    behaviour: 'Signals, metrics and wrong settings concern all workers.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
