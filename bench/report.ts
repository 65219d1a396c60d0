/** The results as Markdown, ready for the documentation. */
import type { CallResult, CallRow, IdleRow, Results, StartRow } from './results.ts';
import type { Spread } from './stats.ts';
import { judge } from './targets.ts';

const digits = (value: number, places: number) => value.toFixed(places);
const range = ({ median, least, most }: Spread, places: number) =>
  `${digits(median, places)} (${digits(least, places)}–${digits(most, places)})`;
const grouped = (value: number) => Math.round(value).toLocaleString('en-US');
const micros = (value: number) => (value < 1000 ? digits(value, 1) : grouped(value));

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((cells) => (cells[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}

function callTable({ title, connections, floor, rows, workload }: CallResult): string {
  const cells = ({ contestant, ratio, more, gatewayCpu, backendCpu, callsPerSecond, p50, p99 }: CallRow) => [
    contestant,
    ratio === undefined ? '' : range(ratio, 2),
    more === undefined || contestant === floor ? '' : micros(more.median),
    micros(gatewayCpu.median),
    contestant === 'direct' ? '' : micros(backendCpu.median),
    grouped(callsPerSecond),
    digits(p50, 2),
    digits(p99, 2),
  ];
  const head = [
    '',
    `CPU, ${floor || 'floor'} = 1`,
    'µs more',
    'CPU µs/call',
    'backend CPU µs',
    'calls/s',
    'p50 ms',
    'p99 ms',
  ];
  const at = connections === 1 ? 'one connection' : `${connections} connections`;
  return `### ${title}\n\`${workload}\`, ${at}.\n\n${table(head, rows.map(cells))}`;
}

function idleTable(rows: readonly IdleRow[]): string {
  const cells = ({ contestant, group, sessions, kbEach, rssMb, upstreamStreams }: IdleRow) => [
    contestant,
    group,
    grouped(sessions),
    digits(kbEach, 1),
    digits(rssMb, 0),
    upstreamStreams === undefined ? '' : grouped(upstreamStreams),
  ];
  const head = ['', 'backend', 'sessions', 'KB each', 'RSS MB with all', 'streams upstream'];
  const note =
    'Memory that one more session costs, after a garbage collection. `pass-through` holds two bare streams for it.';
  return `### Idle legacy sessions, each with an open GET stream\n\`idle\`. ${note}\n\n${table(head, rows.map(cells))}`;
}

function startTable(rows: readonly StartRow[], bareNodeMs: number | undefined): string {
  const cells = ({ contestant, group, ms, rssMb }: StartRow) => [
    contestant,
    group,
    range(ms, 0),
    bareNodeMs === undefined ? '' : digits(ms.median / bareNodeMs, 1),
    digits(rssMb, 0),
  ];
  const head = ['', 'backend', 'ms to the first answer', '`node -e 0` = 1', 'RSS MB'];
  const note = 'A gateway in front of a stdio backend starts that as well.';
  return `### Start-up\n\`start\`. ${note}\n\n${table(head, rows.map(cells))}`;
}

function targetTable(results: Results): string | undefined {
  const verdicts = judge(results);
  if (verdicts.length === 0) return undefined;
  const rows = verdicts.map(({ title, floor, most, unit, measured, isMet }) => [
    title,
    floor,
    unit === 'micros' ? `at most ${most} µs more` : `at most ${most}`,
    measured === undefined ? 'not measured' : digits(measured, unit === 'micros' ? 1 : 2),
    isMet ? 'met' : 'MISSED',
  ]);
  return `### Targets\nCPU of Bascule per call.\n\n${table(['', '= 1', 'target', 'measured', ''], rows)}`;
}

function preface({ node, cores, load, date, rounds, seconds, profiled, absent }: Results): string {
  const lines = [
    '# Benchmarks',
    `Written by \`npm run bench\` on ${date.slice(0, 10)}: Node ${node}, ${cores} cores, ${rounds} rounds of ${seconds} s for each contestant, in turn; medians, with the least and the most in brackets. Ratios are taken within a round. Read those: the absolute figures move with the machine.`,
    '`direct` is the backend by itself. `pass-through` is the least that a gateway can do in Node: `node:http` in, `undici` out, bodies gathered, nothing parsed. `bare bridge` is the same in front of a stdio backend. `mcp-proxy` fronts stdio backends only. `from memory` is a bare `node:http` server that has the same bytes already; `one backend` is Bascule itself with one backend at `/mcp` instead of twenty; `nobody is asked` is Bascule without identity; `no rules` is Bascule without policy and audit. There the rounds are shorter and more, and what counts is the median of the differences between neighbours. CPU is what the system counted for the process, all threads; every answer was checked.',
  ];
  if (load > cores / 2) lines.push(`**The machine was busy with other things (load ${digits(load, 1)}).**`);
  if (profiled !== undefined) lines.push(`**${profiled} ran under the profiler: its figures are too high.**`);
  for (const { contestant, group, why } of absent) lines.push(`Not measured: ${contestant} (${group}), ${why}.`);
  return lines.join('\n\n');
}

export function writeReport(results: Results): string {
  const { calls, idle, start, bareNodeMs } = results;
  const parts = [preface(results), targetTable(results), ...calls.map(callTable)];
  if (idle.length > 0) parts.push(idleTable(idle));
  if (start.length > 0) parts.push(startTable(start, bareNodeMs));
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}
