/** What Bascule holds itself to. */
import type { Results } from './results.ts';

export interface Target {
  readonly workload: string;
  /** CPU per call, against the floor of the workload's group. */
  readonly most: number;
}

export const targets: readonly Target[] = [
  { workload: 'call-modern', most: 2 },
  { workload: 'result-text', most: 1.5 },
  { workload: 'result-records', most: 1.5 },
  { workload: 'list-merged', most: 1.5 },
  { workload: 'list-merged-all', most: 1.5 },
  { workload: 'call-among-20', most: 1.1 },
];

export interface Verdict extends Target {
  readonly title: string;
  readonly floor: string;
  readonly measured: number | undefined;
  readonly isMet: boolean;
}

/** A target whose workload was not run is left out; one that was run without Bascule is missed. */
export function judge({ calls }: Results): Verdict[] {
  return targets.flatMap((target): Verdict[] => {
    const result = calls.find(({ workload }) => workload === target.workload);
    if (result === undefined) return [];
    const measured = result.rows.find(({ contestant }) => contestant === 'bascule')?.ratio?.median;
    return [
      {
        ...target,
        title: result.title,
        floor: result.floor,
        measured,
        isMet: measured !== undefined && measured <= target.most,
      },
    ];
  });
}
