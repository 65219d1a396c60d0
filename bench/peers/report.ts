/** The results as Markdown, ready for the documentation. */
import { MOST_FOREIGN } from '../foreign-load.ts';
import { digits, grouped, micros, table } from '../markdown.ts';
import { targetTable } from '../report.ts';
import type { CallResult, CallRow, Results } from '../results.ts';

export interface PeerResults extends Results {
  readonly versions: Readonly<Record<string, string>>;
}

function groupTable(
  { title, group, connections, foreignCores, floor, rows, workload }: CallResult,
  results: PeerResults,
) {
  const cpuOf = ({ gatewayCpu, treeCpu }: CallRow) => (group === 'peers-stdio' ? treeCpu : gatewayCpu).median;
  const bascule = rows.find(({ contestant }) => contestant === floor);
  const cells = (row: CallRow) => [
    row.contestant,
    results.versions[row.contestant] ?? '',
    micros(cpuOf(row)),
    bascule === undefined ? '' : digits(cpuOf(row) / cpuOf(bascule), 2),
    digits(row.p50, 2),
    digits(row.p99, 2),
    digits(row.rssMb, 0),
    grouped(row.calls),
  ];
  const whose = group === 'peers-stdio' ? 'CPU µs/call with the server' : 'CPU µs/call';
  const head = ['', 'version', whose, 'Bascule = 1', 'p50 ms', 'p99 ms', 'RSS MB', 'calls'];
  const beside = foreignCores > MOST_FOREIGN ? ` **Others used ${digits(foreignCores, 2)} cores meanwhile.**` : '';
  const sorted = rows.toSorted((one, other) => cpuOf(one) - cpuOf(other));
  return `### ${title}\n\`${workload}\`, ${connections} connections.${beside}\n\n${table(head, sorted.map(cells))}`;
}

/** Enough of a reason to see what it is. */
const firstLines = (text: string) => text.trim().split('\n').slice(0, 6).join('\n');

function preface({ node, cores, date, rounds, absent }: PeerResults): string {
  const lines = [
    `Written by \`npm run bench:peers\` on ${date.slice(0, 10)}: Node ${node}, ${cores} cores. After a warm-up, all gateways of a table take turns in ${rounds} rounds of 1,000 small calls, slow ones of fewer. Figures are medians over the rounds; memory is the most after a round.`,
    'CPU and memory are those of all processes of a gateway. In front of a stdio backend the CPU includes the server, which every gateway starts itself. Every answer was checked. `pass-through` and `bare bridge` are the least that a gateway can do in Node, nginx is a plain reverse proxy with one worker: they know nothing of MCP, and check nothing.',
  ];
  const missing = new Set(absent.map(({ contestant, why }) => `Not measured: ${contestant}: ${firstLines(why)}`));
  lines.push(...missing);
  return lines.join('\n\n');
}

export function writePeerReport(results: PeerResults): string {
  const parts = [preface(results), targetTable(results), ...results.calls.map((result) => groupTable(result, results))];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}
