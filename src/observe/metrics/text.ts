/**
 * The text formats that Prometheus reads.
 * https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
import type { MetricFamily } from './families.ts';
import type { Series } from './series.ts';

export type TextFormat = 'openmetrics' | 'prometheus';

export const contentTypes: Readonly<Record<TextFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
};

export function formatFor(accept: string | undefined): TextFormat {
  return accept?.includes('application/openmetrics-text') === true ? 'openmetrics' : 'prometheus';
}

export function writeText(all: Iterable<Series>, format: TextFormat): string {
  const lines: string[] = [];
  for (const series of all) if (series.labels.length > 0) writeFamily(series, format, lines);
  if (format === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

/** The suffix of the samples, by the type of their family. */
const suffixes = { counter: '_total', gauge: '', histogram: '', info: '_info' } as const;

/** The name of the samples of a family. Those of a histogram have further endings. */
export function sampleName({ name, type }: MetricFamily): string {
  return name + suffixes[type];
}

function writeFamily(series: Series, format: TextFormat, lines: string[]): void {
  const { family, labels } = series;
  const sample = sampleName(family);
  const isOpen = format === 'openmetrics';
  // The older format has no info, and names a counter as its samples.
  const name = isOpen ? family.name : sample;
  lines.push(
    `# HELP ${name} ${family.help}`,
    `# TYPE ${name} ${!isOpen && family.type === 'info' ? 'gauge' : family.type}`,
  );
  if (isOpen && family.unit !== undefined) lines.push(`# UNIT ${name} ${family.unit}`);
  for (const [index, text] of labels.entries()) {
    if (family.bounds === undefined) lines.push(line(sample, text, series.row(index)[0] ?? 0));
    else writeHistogram(family.name, family.bounds, text, series.row(index), lines);
  }
}

function writeHistogram(
  name: string,
  bounds: readonly number[],
  text: string,
  row: Float64Array,
  lines: string[],
): void {
  const more = text === '' ? '' : `${text},`;
  let count = 0;
  for (let at = 0; at <= bounds.length; at++) {
    count += row[at] ?? 0;
    const bound = bounds[at];
    lines.push(line(`${name}_bucket`, `${more}le="${bound === undefined ? '+Inf' : boundText(bound)}"`, count));
  }
  lines.push(line(`${name}_sum`, text, row[bounds.length + 1] ?? 0), line(`${name}_count`, text, count));
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value}`;
}

/** OpenMetrics, "Considerations: Canonical Numbers": bounds are written as floating-point numbers. */
function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
