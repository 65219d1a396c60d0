/** Which process makes room where all are taken and somebody waits. Pure. */

/** What has to be known of a process. */
interface Idleness {
  readonly lastActive: number;
  readonly busy: boolean;
  /** Whether anything was sent to it yet. */
  readonly used: boolean;
}

export interface EvictionCandidate<C extends Idleness> {
  readonly child: C;
  /** The principal whose session it is; undefined: nobody's in particular. */
  readonly owner: string | undefined;
}

export interface EvictionState {
  readonly now: number;
  /** Its owner says that it keeps nothing between calls. */
  readonly isStateless: boolean;
}

/** A session whose process has been idle for so long loses it to a principal that has fewer: its client may well be gone. */
const SPARE_MS = 60_000;

/**
 * First one that belongs to no session: whatever it was read for can be read again. Then, where nothing is kept between calls,
 * one that is idle, of the principal that has most. A session's state is given up for another principal alone, one that has at
 * least two processes fewer, and not soon. Within these, the one that has been idle for longest.
 */
export function dispensable<C extends Idleness>(
  candidates: readonly EvictionCandidate<C>[],
  waiting: string | undefined,
  { now, isStateless }: EvictionState,
): C | undefined {
  // One that was sent nothing yet has just been given to somebody.
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
