/** How a bench starts and ends. */
import type { Results } from './results.ts';
import { judge } from './targets.ts';

export const say = (text: string) => void process.stderr.write(`${text}\n`);
export const reasonOf = (why: unknown): string => (why instanceof Error ? why.message : String(why));

/** Of `--assert`: 1 where a target is missed, 2 where the machine was too busy to tell. */
export function statusOf(results: Results): number {
  const outcomes = judge(results).map(({ outcome }) => outcome);
  if (outcomes.includes('MISSED')) return 1;
  return outcomes.includes('too busy') ? 2 : 0;
}

/** Ends the process with the status that comes of it; what the bench has started ends with it. */
export function runProgram(main: () => Promise<number>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  main().then(
    (code) => process.exit(code),
    (error: unknown) => {
      say(`\nTHE BENCH FAILED\n${reasonOf(error)}`);
      process.exit(1);
    },
  );
}
