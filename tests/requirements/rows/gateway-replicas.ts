/** Replicas: processes on several machines that are one gateway. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayReplicas = {
  'gateway:replicas:sessions': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'Behind a balancer without sticky routing, requests, streams, answers, cancellations and DELETE of a session work at every replica.',
  }),
  'gateway:replicas:pending': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A retry of a pending call is served at whichever replica it arrives.',
  }),
  'gateway:replicas:killed': held({
    spec: 'gateway',
    behaviour:
      'When a replica is killed, others go on with its sessions within the time of its lease, or refuse them by name.',
  }),
  'gateway:replicas:rolling': held({
    spec: 'gateway',
    behaviour: 'Replicas that are restarted one after the other fail no call and end no session with HTTP backends.',
  }),
  'gateway:replicas:members': held({
    spec: 'gateway',
    behaviour:
      'A replica that is not heard of for its lease counts as gone, whatever the clocks say; none does while the store is away.',
  }),
  'gateway:replicas:degraded': held({
    spec: 'gateway',
    behaviour:
      'With Redis away, restarted empty or out of reach, with a replica that hangs, is cut off from the others, has another clock or another config: what can go on does, the rest is refused by name, and everything heals.',
  }),
  'gateway:replicas:resumed': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'A stream that is resumed at any replica, before and after its session has moved, repeats and loses no event.',
  }),
  'gateway:replicas:many': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A changed list is told to all sessions with open streams, at whichever replicas they are.',
  }),
  'gateway:replicas:config': held({
    spec: 'gateway',
    behaviour: 'Settings of replicas that cannot work are refused with the cause and the cure.',
  }),
  'gateway:replicas:guarded': held({
    spec: 'gateway',
    behaviour: 'Only a process with the key of the gateway can hand requests to a replica.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
