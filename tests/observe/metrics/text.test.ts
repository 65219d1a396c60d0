/** The text that Prometheus reads, and the bounds of what is in it. */
import { expect, test } from 'vitest';
import type { MetricFamily } from '../../../src/observe/metrics/families.ts';
import { metricFamilies } from '../../../src/observe/metrics/families.ts';
import { LabelNames, MOST_NAMES } from '../../../src/observe/metrics/label-names.ts';
import { Series } from '../../../src/observe/metrics/series.ts';
import { formatFor, writeText } from '../../../src/observe/metrics/text.ts';

const counter: MetricFamily = { name: 'things', type: 'counter', help: 'Things.', labels: ['kind'] };
const times: MetricFamily = {
  ...{ name: 'things_seconds', type: 'histogram', unit: 'seconds', help: 'Times.', labels: [] },
  bounds: [0.5, 1],
};
const info: MetricFamily = { name: 'thing', type: 'info', help: 'A thing.', labels: ['version'] };

function filled(): readonly Series[] {
  const counts = new Series(counter);
  counts.add(counts.of('a "b"\\\n'), 2);
  const histogram = new Series(times);
  for (const us of [500_000, 700_000, 3_000_000]) histogram.observe(histogram.of(), us);
  const about = new Series(info);
  about.set(about.of('1'), 1);
  return [counts, histogram, about, new Series(counter)];
}

test('OpenMetrics names families without the suffix of their samples, has units, and ends', () => {
  expect(writeText(filled(), 'openmetrics')).toBe(`# HELP things Things.
# TYPE things counter
things_total{kind="a \\"b\\"\\\\\\n"} 2
# HELP things_seconds Times.
# TYPE things_seconds histogram
# UNIT things_seconds seconds
things_seconds_bucket{le="0.5"} 1
things_seconds_bucket{le="1.0"} 2
things_seconds_bucket{le="+Inf"} 3
things_seconds_sum 4.2
things_seconds_count 3
# HELP thing A thing.
# TYPE thing info
thing_info{version="1"} 1
# EOF
`);
});

test('the older text names families as their samples, and knows no info and no unit', () => {
  const text = writeText(filled(), 'prometheus');
  expect(text).toContain('# TYPE things_total counter\n');
  expect(text).toContain('# TYPE thing_info gauge\n');
  expect(text).not.toMatch(/UNIT|EOF/);
});

test.each([
  { accept: undefined, format: 'prometheus' },
  { accept: 'text/plain', format: 'prometheus' },
  { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5', format: 'openmetrics' },
])('$accept gets $format', ({ accept, format }) => {
  expect(formatFor(accept)).toBe(format);
});

test('series beyond the bound are counted together, and their number is known', () => {
  const series = new Series(counter, 3);
  for (let n = 0; n < 10; n++) series.add(series.of(`kind ${n}`));
  expect(series.labels).toEqual(['kind="kind 0"', 'kind="kind 1"', 'kind="kind 2"', 'kind="_OTHER"']);
  expect([...Array(4).keys()].map((at) => series.row(at)[0])).toEqual([1, 1, 1, 7]);
  expect(series.overflowed).toBe(7);
});

test('values stay where they are when a family grows', () => {
  const series = new Series(times);
  const first = series.of();
  series.observe(first, 700_000);
  const many = new Series(counter);
  for (let n = 0; n < 100; n++) many.add(many.of(`kind ${n}`), n);
  expect([...series.row(first)]).toEqual([0, 1, 0, 0.7]);
  expect(many.row(99)[0]).toBe(99);
});

const bytes = (text: string) => new TextEncoder().encode(text);

test('a name is found by its bytes in a message; others, and those with escapes, are not', () => {
  const names = new LabelNames();
  for (const name of ['echo', 'ech', 'größe']) names.add(name);
  const message = bytes('{"name":"größe"}');
  expect(names.find(message, 9, message.byteLength - 2)).toBe(2);
  expect(names.find(bytes('echo'), 0, 3)).toBe(1);
  expect(names.find(bytes('echoes'), 0, 6)).toBe(-1);
  expect(names.find(bytes('gr\\u00f6\\u00dfe'), 0, 15)).toBe(-1);
});

test('names beyond the bound are left out and counted', () => {
  const names = new LabelNames();
  for (let n = 0; n < MOST_NAMES + 5; n++) names.add(`tool ${n}`);
  names.add('x'.repeat(1_000));
  names.add('tool 1');
  expect(names.names).toHaveLength(MOST_NAMES);
  expect(names.leftOut).toBe(6);
  for (let n = 0; n < MOST_NAMES; n++) expect(names.find(bytes(`tool ${n}`), 0, `tool ${n}`.length)).toBe(n);
});

test('every family has a help text, a unit that ends its name, and labels that are names', () => {
  const names = new Set<string>();
  for (const { name, help, labels, type, ...rest } of Object.values(metricFamilies) as MetricFamily[]) {
    expect(name).toMatch(/^(?:mcp|rpc|bascule|process|nodejs)_[a-z0-9_]+$/);
    expect(help).toMatch(/^[A-Z0-9].*\.$/);
    expect(name).not.toMatch(/_total$|_info$/);
    if (rest.unit !== undefined) expect(name.endsWith(`_${rest.unit}`)).toBe(true);
    expect(rest.bounds !== undefined).toBe(type === 'histogram');
    for (const label of labels) expect(label).toMatch(/^[a-z][a-z0-9_]*$/);
    names.add(name);
  }
  expect(names.size).toBe(Object.keys(metricFamilies).length);
});
