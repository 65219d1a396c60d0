/** Limits that are counted over several processes. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayCounts = {
  'gateway:counts:contract': held({
    spec: 'gateway',
    behaviour: 'Tokens, slots and attempts are counted alike in memory, at the primary process and in Redis.',
  }),
  'gateway:counts:lots': held({
    spec: 'gateway',
    behaviour: 'All processes together exceed a rate or a number of sessions by one lot each at the most.',
  }),
  'gateway:counts:workers': held({
    spec: 'gateway',
    behaviour: 'Workers count rates, sessions and wrong passwords together; what a dead one held is free.',
  }),
  'gateway:counts:replicas': held({
    spec: 'gateway',
    behaviour: 'Gateways that share a store count rates, sessions and wrong passwords together.',
  }),
  'gateway:counts:fallback': held({
    spec: 'gateway',
    behaviour: 'While shared counts cannot be reached, a process counts its part, says so once, and heals by itself.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
