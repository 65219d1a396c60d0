/** Writes the table of metrics in docs/observability.md; with --check, fails where it is stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type MetricFamily, metricFamilies } from '../src/observe/metrics/families.ts';
import { sampleName } from '../src/observe/metrics/text.ts';

const page = 'docs/observability.md';
const begin = '<!-- metrics: npm run docs:metrics -->\n';
const end = '<!-- end of metrics -->';

const rows = (Object.values(metricFamilies) as readonly MetricFamily[]).map((family) => {
  const labels = family.labels.map((label) => `\`${label}\``).join(', ');
  return `| \`${sampleName(family)}\` | ${family.type} | ${labels} | ${family.help} |`;
});

const table = `| metric | type | labels | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
const text = readFileSync(page, 'utf8');
const [before = '', rest = ''] = text.split(begin);
const fresh = `${before}${begin}${table}${end}${rest.split(end)[1] ?? ''}`;

if (process.argv.includes('--check')) {
  if (text !== fresh) {
    process.stderr.write(`${page} is stale: npm run docs:metrics\n`);
    process.exitCode = 1;
  }
} else writeFileSync(page, fresh);
