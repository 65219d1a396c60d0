/** The results as Markdown, ready for the documentation. */
import { MOST_FOREIGN } from './foreign-load.ts';
import { digits, grouped, micros, range, table } from './markdown.ts';
import type { CallResult, CallRow, IdleRow, Results, StartRow, Starts } from './results.ts';
import { judge } from './targets.ts';
import type { OpeningRow } from './workloads/opening.ts';

function callTable({ title, connections, foreignCores, floor, rows, workload }: CallResult): string {
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
  const beside = foreignCores > MOST_FOREIGN ? ` **Others used ${digits(foreignCores, 2)} cores meanwhile.**` : '';
  return `### ${title}\n\`${workload}\`, ${at}.${beside}\n\n${table(head, rows.map(cells))}`;
}

function openingTable(rows: readonly OpeningRow[]): string {
  const cells = ({ contestant, gatewayCpu, ratio }: OpeningRow) => [
    contestant,
    range(ratio, 2),
    micros(gatewayCpu.median),
  ];
  const note = '`initialize`, `notifications/initialized` and the GET stream, HTTP backend.';
  const head = ['', 'CPU, pass-through = 1', 'CPU µs/session'];
  return `### Opening a legacy session\n\`opening\`. ${note}\n\n${table(head, rows.map(cells))}`;
}

function idleTable(rows: readonly IdleRow[]): string {
  const cells = ({ contestant, group, sessions, kbEach, earlyKbEach, rssMb, upstreamStreams }: IdleRow) => [
    contestant,
    group,
    grouped(sessions),
    digits(kbEach, 1),
    digits(earlyKbEach, 1),
    digits(rssMb, 0),
    upstreamStreams === undefined ? '' : grouped(upstreamStreams),
  ];
  const head = ['', 'backend', 'sessions', 'KB each', 'KB each, first third', 'RSS MB with all', 'streams upstream'];
  const note =
    'Memory that one more session costs, after a garbage collection: the growth over the last two thirds of the sessions. The first third also pays for what V8 takes once, above all a larger new space. `pass-through` holds two bare streams for a session.';
  return `### Idle legacy sessions, each with an open GET stream\n\`idle\`. ${note}\n\n${table(head, rows.map(cells))}`;
}

function startTable({ rows }: Starts): string {
  const cells = ({ contestant, group, ms, ratio, rssMb }: StartRow) => [
    contestant,
    group,
    range(ms, 0),
    range(ratio, 1),
    digits(rssMb, 0),
  ];
  const head = ['', 'backend', 'ms to the first answer', '`node -e 0` = 1', 'RSS MB'];
  const note =
    '`node -e 0` runs just before each start. A gateway in front of a stdio backend starts that as well; an HTTP backend has answered before.';
  return `### Start-up\n\`start\`. ${note}\n\n${table(head, rows.map(cells))}`;
}

export function targetTable(results: Results): string | undefined {
  const verdicts = judge(results);
  if (verdicts.length === 0) return undefined;
  const rows = verdicts.map(({ title, what, against, most, measured, outcome }) => [
    title,
    against === '' ? what : `${what} to ${against}`,
    String(most),
    digits(measured, measured < 10 ? 2 : 1),
    outcome,
  ]);
  const missed = verdicts.filter(({ outcome, ifMissed }) => outcome === 'MISSED' && ifMissed !== undefined);
  const reasons = missed.map(({ title, what, ifMissed }) => `- ${title} (${what}): ${ifMissed}`);
  const busy = verdicts.some(({ outcome }) => outcome === 'too busy')
    ? `\n\n**Others used more than ${MOST_FOREIGN} of a core: no verdict where it says \`too busy\`.**`
    : '';
  return `### Targets\n${table(['', 'what', 'at most', 'measured', ''], rows)}${busy}${reasons.length > 0 ? `\n\n${reasons.join('\n')}` : ''}`;
}

function preface({ node, cores, date, rounds, profiled, absent }: Results): string {
  const lines = [
    '# Benchmarks',
    `Written by \`npm run bench\` on ${date.slice(0, 10)}: Node ${node}, ${cores} cores. After a warm-up, contestants take turns in ${rounds} rounds of a fixed number of calls, one half of them with processes that are started anew. Figures are medians over the rounds. A ratio, or a difference, is that of two rounds right after each other: their median, with the least and the most in brackets. Read the ratios: the absolute figures move with the machine, by a factor of two within seconds.`,
    '`direct` is the backend by itself. `pass-through` is the least that a gateway can do in Node: `node:http` in, `undici` out, bodies gathered, nothing parsed. `bare bridge` is the same in front of a stdio backend. `mcp-proxy` fronts stdio backends only. `from memory` is a bare `node:http` server that has the same bytes already. `single endpoint` is Bascule itself in front of one backend, `no identity`, `no rules` and `no traces` are Bascule without these. CPU is what the system counted for the gateway, all threads, and all processes that it started but the backends. Every answer was checked.',
  ];
  if (profiled !== undefined) lines.push(`**${profiled} ran under the profiler: its figures are too high.**`);
  for (const { contestant, group, why } of absent) lines.push(`Not measured: ${contestant} (${group}), ${why}.`);
  return lines.join('\n\n');
}

export function writeReport(results: Results): string {
  const { calls, opening, idle, starts } = results;
  const parts = [preface(results), targetTable(results), ...calls.map(callTable)];
  if (opening.length > 0) parts.push(openingTable(opening));
  if (idle.length > 0) parts.push(idleTable(idle));
  if (starts !== undefined) parts.push(startTable(starts));
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}
