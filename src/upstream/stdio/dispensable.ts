/** Which process to evict when all are taken and a request waits for one. Pure. */
import type { Child } from './child.ts';

/** What eviction needs to know of a process. */
type Idleness = Pick<Child, 'lastActive' | 'busy' | 'used'>;

export interface EvictionCandidate<C extends Idleness> {
  readonly child: C;
  /** The principal whose session it is; undefined: it belongs to no session. */
  readonly owner: string | undefined;
}

export interface EvictionState {
  readonly now: number;
  /** The operator declares that the backend keeps no state between calls. */
  readonly isStateless: boolean;
}

/** After this idle time, a session can lose its process to a principal that has fewer: its client may well be gone. */
const SPARE_MS = 60_000;

/**
 * First choice is a process without a session: its work can be repeated. Next, where the backend keeps no state, comes
 * an idle process of the principal with the most. The state of a session is given up only for a different principal
 * with at least two processes fewer, and only after `SPARE_MS`. Among equals, the process that is idle longest is
 * evicted.
 */
export function dispensable<C extends Idleness>(
  candidates: readonly EvictionCandidate<C>[],
  waiting: string | undefined,
  { now, isStateless }: EvictionState,
): C | undefined {
  // A process that got nothing yet has just been handed to a caller.
  const idle = candidates.filter(({ child }) => child.used && !child.busy);
  const nobodys = longestIdle(idle.filter(({ owner }) => owner === undefined));
  if (nobodys !== undefined) return nobodys;
  const counts = countByOwner(candidates);
  const mine = waiting === undefined ? 0 : (counts.get(waiting) ?? 0);
  const has = ({ owner }: EvictionCandidate<C>) => (owner === undefined ? 0 : (counts.get(owner) ?? 0));
  const given = isStateless
    ? idle
    : idle.filter(
        (one) =>
          waiting !== undefined &&
          one.owner !== waiting &&
          has(one) >= mine + 2 &&
          one.child.lastActive <= now - SPARE_MS,
      );
  const most = Math.max(...given.map(has));
  return longestIdle(given.filter((one) => has(one) === most));
}

function countByOwner<C extends Idleness>(candidates: readonly EvictionCandidate<C>[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { owner } of candidates) if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

function longestIdle<C extends Idleness>(candidates: readonly EvictionCandidate<C>[]): C | undefined {
  let longest: C | undefined;
  for (const { child } of candidates)
    if (longest === undefined || child.lastActive < longest.lastActive) longest = child;
  return longest;
}
