import type { Check, CheckStatus, KitResult } from './kit.ts';
import type { Excuse } from './rows.ts';

export interface Deviation {
  /** Absent where the run as a whole is at fault. */
  readonly scenario?: string;
  readonly message: string;
}

/**
 * Checks that succeed directly and may say nothing through a gateway, with the reason.
 * Every other check that is lost is a deviation: the kit calls a scenario passed when its checks were never made.
 */
const MAY_FALL_SILENT: ReadonlyMap<string, string> = new Map([
  ['server-sse-streams-functional', 'only made of SSE answers; a call that is done at once may be answered in JSON'],
]);

export function count(checks: readonly Check[], status: CheckStatus): number {
  return checks.filter((check) => check.status === status).length;
}

export function hasPassed(checks: readonly Check[]): boolean {
  return count(checks, 'FAILURE') === 0;
}

export function passedScenarios(result: KitResult): number {
  return [...result.values()].filter(hasPassed).length;
}

/** What one run shows by itself: how many scenarios passed, and which checks failed. */
export function judgeAlone(result: KitResult, expected: number): Deviation[] {
  const deviations: Deviation[] = [];
  for (const [scenario, checks] of result) {
    for (const { id, status, errorMessage } of checks) {
      if (status === 'FAILURE')
        deviations.push({ scenario, message: `failed ${id}: ${errorMessage ?? 'no reason given'}` });
    }
  }
  const passed = passedScenarios(result);
  if (passed !== expected) deviations.push({ message: `${passed} scenarios passed, ${expected} expected` });
  return deviations;
}

/** What a gateway took away: warnings and skipped checks do not fail a scenario, and neither do missing ones. */
export function judgeAgainst(direct: KitResult, through: KitResult): Deviation[] {
  const deviations: Deviation[] = [];
  for (const [scenario, before] of direct) {
    const after = through.get(scenario);
    if (!after) {
      deviations.push({ scenario, message: 'ran directly only' });
      continue;
    }
    for (const status of ['WARNING', 'SKIPPED'] as const) {
      for (const check of newChecks(before, after, status)) {
        const reason = check.errorMessage ? `: ${check.errorMessage}` : '';
        deviations.push({ scenario, message: `${status} ${check.id}, not so directly${reason}` });
      }
    }
    // A scenario that failed ends where it failed: what it did not come to is no news.
    if (!hasPassed(after)) continue;
    for (const id of lostChecks(before, after)) deviations.push({ scenario, message: `lost ${id}` });
  }
  return deviations;
}

/** The checks with this status, less as many of each id as were there before. */
function newChecks(before: readonly Check[], after: readonly Check[], status: CheckStatus): Check[] {
  const allowance = tally(before, status);
  return after.filter((check) => {
    if (check.status !== status) return false;
    const left = allowance.get(check.id) ?? 0;
    allowance.set(check.id, left - 1);
    return left <= 0;
  });
}

/** Ids that succeeded before and have fewer verdicts now: neither success, failure, warning nor skipped. */
export function lostChecks(before: readonly Check[], after: readonly Check[]): string[] {
  const verdicts = after.filter((check) => check.status !== 'INFO');
  return [...tally(before, 'SUCCESS')]
    .filter(([id, times]) => verdicts.filter((check) => check.id === id).length < times && !MAY_FALL_SILENT.has(id))
    .map(([id]) => id);
}

function tally(checks: readonly Check[], status: CheckStatus): Map<string, number> {
  const times = new Map<string, number>();
  for (const check of checks) {
    if (check.status === status) times.set(check.id, (times.get(check.id) ?? 0) + 1);
  }
  return times;
}

/** What is left of the deviations, and the excuses that nothing needed. */
export function withoutExcused(deviations: readonly Deviation[], excuses: readonly Excuse[]): Deviation[] {
  const covers = (excuse: Excuse, { scenario, message }: Deviation): boolean =>
    excuse.scenario === scenario && message.startsWith(excuse.message);
  const left = deviations.filter((deviation) => !excuses.some((excuse) => covers(excuse, deviation)));
  const stale = excuses.filter((excuse) => !deviations.some((deviation) => covers(excuse, deviation)));
  return [...left, ...stale.map(({ scenario, message }) => ({ scenario, message: `needs no excuse: ${message}` }))];
}
