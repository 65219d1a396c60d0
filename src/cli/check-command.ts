/** `bascule check <target>`. */
import { checkLines, totals, totalsLine } from '../doctor/check/report.ts';
import { runChecks } from '../doctor/check/run.ts';
import { type InspectionFlags, withOptions } from './inspection-options.ts';

/** Returns the exit code: 1 where a MUST is broken, with --strict also a SHOULD, or where nothing could be tested. */
export function check(words: readonly string[], flags: InspectionFlags): Promise<number> {
  return withOptions(words, flags, async (options) => {
    const say = (text: string) => void process.stdout.write(`${text}\n`);
    const reports = await runChecks(options, (report) => {
      if (flags.json !== true) say(checkLines(report));
    });
    const sums = totals(reports);
    const broken = sums.brokenMust + (flags.strict === true ? sums.brokenShould : 0);
    const isFine = broken === 0 && sums.held > 0;
    if (flags.json === true) say(JSON.stringify({ ok: isFine, totals: sums, checks: reports }, null, 2));
    else say(`\n${totalsLine(sums)}`);
    return isFine ? 0 : 1;
  });
}
