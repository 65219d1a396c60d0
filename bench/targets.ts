/** What Bascule holds itself to. */
import type { CallResult, Results } from './results.ts';

export interface Target {
  readonly workload: string;
  /** CPU per call, against the floor of the workload's group; or so many microseconds more than it. */
  readonly most: number;
  readonly unit?: 'ratio' | 'micros';
  /** Whose; Bascule's unless it says otherwise. */
  readonly contestant?: string;
}

export const targets: readonly Target[] = [
  { workload: 'call-modern', most: 2 },
  { workload: 'result-text', most: 1.5 },
  { workload: 'result-records', most: 1.5 },
  { workload: 'list-merged', most: 1.5 },
  { workload: 'list-merged-all', most: 1.5 },
  { workload: 'call-among-20', most: 1.1 },
  { workload: 'identity', most: 30, unit: 'micros', contestant: 'token' },
  { workload: 'identity', most: 30, unit: 'micros', contestant: 'key' },
  { workload: 'policy', most: 1.15, contestant: 'rules and audit' },
];

export interface Verdict extends Target {
  readonly title: string;
  readonly floor: string;
  readonly measured: number | undefined;
  readonly isMet: boolean;
}

function measure({ rows }: CallResult, { contestant: wanted = 'bascule', unit }: Target): number | undefined {
  const row = rows.find(({ contestant }) => contestant === wanted);
  return unit === 'micros' ? row?.more?.median : row?.ratio?.median;
}

/** A target whose workload was not run is left out; one that was run without Bascule is missed. */
export function judge({ calls }: Results): Verdict[] {
  return targets.flatMap((target): Verdict[] => {
    const result = calls.find(({ workload }) => workload === target.workload);
    if (result === undefined) return [];
    const measured = measure(result, target);
    return [
      {
        ...target,
        title: target.contestant === undefined ? result.title : `${result.title}: ${target.contestant}`,
        floor: result.floor,
        measured,
        isMet: measured !== undefined && measured <= target.most,
      },
    ];
  });
}
