/** Every name in the shipped dashboard and alert rules is one that the gateway writes. */
import { describe, expect, test } from 'vitest';
import { type MetricFamily, metricFamilies } from '../../../src/observe/metrics/families.ts';
import { sampleName } from '../../../src/observe/metrics/text.ts';
import { alertQueries, dashboard, panelQueries } from './shipped-queries.ts';

const families: readonly MetricFamily[] = Object.values(metricFamilies);
/** Labels that Prometheus adds, and the bounds of buckets. */
const added = ['job', 'instance', 'le'];

/** Each metric in a query, with the family that it belongs to. */
function metricsIn(expr: string): readonly { readonly name: string; readonly family: MetricFamily | undefined }[] {
  const names = expr.match(/\b(?:mcp|rpc|bascule|process|nodejs)_[a-z0-9_]+(?=[{[\s)]|$)/g) ?? [];
  return names
    .filter((name) => !families.some(({ labels }) => labels.includes(name)))
    .map((name) => ({ name, family: families.find((family) => namesOf(family).includes(name)) }));
}

function namesOf(family: MetricFamily): readonly string[] {
  if (family.type !== 'histogram') return [sampleName(family)];
  return ['_bucket', '_sum', '_count'].map((end) => family.name + end);
}

/** The labels in matchers, in `by (...)` and in legends. */
function labelsIn(expr: string, legend: string): readonly string[] {
  const matched = [...expr.matchAll(/([a-z_]+)\s*(?:=~|!=|!~|=)\s*"/g)].map(([, name]) => name);
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names]) => names?.split(/,\s*/));
  const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
  return [...matched, ...grouped, ...shown].filter((name) => name !== undefined);
}

describe.each([...panelQueries, ...alertQueries])('$name: $expr', ({ expr, legend }) => {
  test('names metrics and labels of the table', () => {
    const metrics = metricsIn(expr);
    expect(metrics.length).toBeGreaterThan(0);
    for (const { name, family } of metrics) expect(family, name).toBeDefined();
    const known = new Set([...added, ...metrics.flatMap(({ family }) => family?.labels ?? [])]);
    for (const label of labelsIn(expr, legend)) expect(known, label).toContain(label);
  });
});

test('the dashboard chooses its data source and its interval, and has a fixed uid', () => {
  expect(dashboard.uid).toBe('bascule-gateway');
  expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'job']);
  for (const { datasource } of dashboard.panels) expect(datasource?.uid ?? '$').toMatch(/^\$/);
  for (const { expr } of panelQueries) {
    expect(expr).toContain('job=~"$job"');
    for (const [, range] of expr.matchAll(/\[([^\]]+)\]/g)) expect(range).toBe('$__rate_interval');
  }
});
