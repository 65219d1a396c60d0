import { count, hasPassed, lostChecks } from './judge.ts';
import type { Check, KitResult } from './kit.ts';

export interface Column {
  readonly title: string;
  readonly result: KitResult;
  /** Where it is there, checks that it has and this column lacks are marked. */
  readonly baseline?: KitResult;
}

const MIN_WIDTH = 12;

/** One line a scenario: checks that succeeded of those made; w warnings, sk skipped, lost against the direct run. */
export function formatMatrix(heading: string, columns: readonly Column[]): string {
  const scenarios = [...new Set(columns.flatMap(({ result }) => [...result.keys()]))];
  const first = Math.max(heading.length, ...scenarios.map((name) => name.length));
  const cells = columns.map(({ result, baseline }) =>
    scenarios.map((name) => formatCell(result.get(name), baseline?.get(name))),
  );
  const widths = columns.map(({ title }, at) =>
    Math.max(MIN_WIDTH, title.length, ...(cells[at] ?? []).map((cell) => cell.length)),
  );
  const line = (name: string, parts: readonly string[]): string =>
    [name.padEnd(first), ...parts.map((part, at) => part.padEnd(widths[at] ?? 0))].join('  ').trimEnd();
  return [
    line(
      heading,
      columns.map(({ title }) => title),
    ),
    ...scenarios.map((name, at) =>
      line(
        name,
        cells.map((column) => column[at] ?? ''),
      ),
    ),
  ].join('\n');
}

function formatCell(checks: readonly Check[] | undefined, baseline: readonly Check[] | undefined): string {
  if (!checks) return '-';
  const made = count(checks, 'SUCCESS') + count(checks, 'FAILURE');
  const marks = [
    { mark: 'w', times: count(checks, 'WARNING') },
    { mark: 'sk', times: count(checks, 'SKIPPED') },
    { mark: 'lost', times: baseline ? lostChecks(baseline, checks).length : 0 },
  ].filter(({ times }) => times > 0);
  const verdict = `${hasPassed(checks) ? 'ok' : 'FAIL'} ${count(checks, 'SUCCESS')}/${made}`;
  return [verdict, ...marks.map(({ mark, times }) => `${mark}${times}`)].join(' ');
}
