/** How costs grow, as Markdown; for the documentation with its charts. */
import { MOST_FOREIGN } from '../foreign-load.ts';
import { table } from '../markdown.ts';
import type { AxisResult, KeptResult } from './axis.ts';
import { figure, valueLabel } from './labels.ts';
import { judge, mostExponent, type Verdict } from './verdict.ts';

/** Less than a line may have: some are indented. */
const WIDTH = 116;

export function sourceLine({ node, cores, date, rounds }: KeptResult): string {
  return `npm run bench:growth, ${date.slice(0, 10)}: Node ${node}, ${cores} cores, medians of ${rounds} rounds`;
}

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

function figures({ counts, inBytes = false, panels }: AxisResult): string {
  const columns = panels.flatMap(({ title, unit, lines }) =>
    lines.map(({ name, points }) => ({ title: `${title}, ${unit}${lines.length > 1 ? ` (${name})` : ''}`, points })),
  );
  const values = [...new Set(columns.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const rows = values.map((value) => [
    valueLabel(value, inBytes),
    ...columns.map(({ points }) => {
      const point = points.find(({ x }) => x === value);
      return point === undefined ? '' : figure(point.y);
    }),
  ]);
  return table([counts, ...columns.map(({ title }) => title)], rows);
}

/** What is to be seen in the chart. */
function seen({ panel, from, to, exponent, outcome }: Verdict, { counts, inBytes = false }: AxisResult): string {
  const points = panel.lines[0]?.points ?? [];
  const [first, last] = [points.find(({ x }) => x === from), points.find(({ x }) => x === to)];
  const unit = inBytes ? '' : ` ${counts}`;
  const range = `from ${valueLabel(from, inBytes)} to ${valueLabel(to, inBytes)}${unit}`;
  const change = `${figure(first?.y ?? 0)} to ${figure(last?.y ?? 0)} ${panel.unit}`;
  const words = {
    met: panel.grows,
    MISSED: `**more than ${panel.grows}**`,
    'too busy': 'no verdict, the machine was busy',
  };
  return wrapped(`${panel.title}: ${change} ${range}, exponent ${exponent.toFixed(2)}: ${words[outcome]}.`);
}

function verdictTable(axes: readonly AxisResult[]): string {
  const rows = axes.flatMap((result) =>
    judge(result).map(({ panel, exponent, outcome }) => [
      result.axis,
      panel.title,
      panel.grows,
      String(mostExponent[panel.grows]),
      exponent.toFixed(2),
      outcome,
    ]),
  );
  return table(['', 'cost', 'may be', 'exponent at most', 'measured', ''], rows);
}

function section(result: KeptResult, chart: string | undefined): string {
  const { title, conditions, absent } = result;
  return [
    `## ${title}`,
    ...(chart === undefined ? [] : [`![${title}: see the table below](${chart})`]),
    wrapped(`${conditions} ${sourceLine(result).replace('npm run bench:growth, ', 'Measured on ')}.`),
    judge(result)
      .map((verdict) => `- ${seen(verdict, result).replaceAll('\n', '\n  ')}`)
      .join('\n'),
    ...absent.map((why) => wrapped(`Not measured: ${why}.`)),
    figures(result),
  ].join('\n\n');
}

function preface(axes: readonly KeptResult[]): string {
  const busy = Math.max(0, ...axes.flatMap(({ panels }) => panels.map(({ foreignCores }) => foreignCores)));
  const paragraphs = [
    'Written by `npm run bench:growth`. After a warm-up, gateways of all sizes take turns where they can, so that what slows the machine down slows all of them. CPU is what the system counted for the gateway, all threads. Every answer was checked.',
    'A cost that grows as the n-th power of a number has the exponent n: 0 is flat, 1 is linear. It is fitted over the upper half of the values, where what a call costs anyway hides least. [Benchmarks](benchmarks.md) has what a call costs beside other gateways.',
    ...(busy > MOST_FOREIGN ? [`**Others used up to ${busy.toFixed(2)} cores meanwhile.**`] : []),
  ];
  return ['# How costs grow', ...paragraphs.map(wrapped)].join('\n\n');
}

/** `chartOf` names the picture of an axis, where there is one. */
export function writeGrowthReport(axes: readonly KeptResult[], chartOf?: (axis: string) => string): string {
  const sections = axes.map((result) => section(result, chartOf?.(result.axis)));
  return `${[preface(axes), verdictTable(axes), ...sections].join('\n\n')}\n`;
}
