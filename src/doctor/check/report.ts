/** What `bascule check` prints. */
import { printable } from '../../config/problems.ts';
import { byteLines } from '../report.ts';
import type { CheckReport } from './run.ts';

const words = {
  held: 'held   ',
  broken: 'BROKEN ',
  'not-applicable': 'n/a    ',
  'not-tested': 'untried',
} as const;
const INDENT = '           ';

export function checkLines(report: CheckReport): string {
  const { outcome, id, behaviour, level, era, reason, found, spec, bytes } = report;
  const head = `${words[outcome]}  ${era === 'any' ? '' : `${era}  `}${id}`;
  if (outcome === 'held') return `${head}\n${INDENT}${behaviour}`;
  if (outcome !== 'broken') return `${head}\n${INDENT}${printable(reason ?? '')}`;
  return [
    `${head}  (${level.toUpperCase()})`,
    `${INDENT}${behaviour}`,
    `${INDENT}found  ${printable(found ?? '')}`,
    `${INDENT}rule   ${spec}`,
    ...(bytes === undefined ? [] : byteLines(bytes, INDENT)),
  ].join('\n');
}

export interface CheckTotals {
  readonly held: number;
  readonly brokenMust: number;
  readonly brokenShould: number;
  readonly notApplicable: number;
  readonly notTested: number;
}

export function totals(reports: readonly CheckReport[]): CheckTotals {
  const count = (fits: (report: CheckReport) => boolean) => reports.filter(fits).length;
  return {
    held: count(({ outcome }) => outcome === 'held'),
    brokenMust: count(({ outcome, level }) => outcome === 'broken' && level === 'must'),
    brokenShould: count(({ outcome, level }) => outcome === 'broken' && level === 'should'),
    notApplicable: count(({ outcome }) => outcome === 'not-applicable'),
    notTested: count(({ outcome }) => outcome === 'not-tested'),
  };
}

export function totalsLine(sums: CheckTotals): string {
  const { brokenMust, brokenShould } = sums;
  const broken = `${brokenMust + brokenShould} broken (${brokenMust} MUST, ${brokenShould} SHOULD)`;
  return `${sums.held} held, ${broken}, ${sums.notApplicable} not applicable, ${sums.notTested} not tested`;
}
