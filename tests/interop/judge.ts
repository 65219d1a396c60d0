/** Whether what was found is equal, different in a way that the specification demands, or wrong. */
import type { Cell } from './cells.ts';
import type { Deviation } from './compare.ts';
import { DIFFERENCES } from './differences.ts';
import type { Tried } from './group.ts';

export interface Verdict {
  readonly cell: Cell;
  readonly steps: number;
  /** Ids of the differences that were seen. */
  readonly allowed: readonly string[];
  readonly wrong: readonly Deviation[];
  readonly isUnaided: boolean;
  readonly failure: string | undefined;
}

export const isPassed = ({ wrong, failure }: Verdict): boolean => wrong.length === 0 && failure === undefined;

export function judge({ cell, steps, pair, deviations, isUnaided = false, failure }: Tried): Verdict {
  const allowed = new Set<string>();
  const wrong = deviations.filter((deviation) => {
    const difference = DIFFERENCES.find(({ isIt }) => isIt(deviation, pair));
    if (difference !== undefined) allowed.add(difference.id);
    return difference === undefined;
  });
  return { cell, steps: steps.length, allowed: [...allowed], wrong, isUnaided, failure };
}
