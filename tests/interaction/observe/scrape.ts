/** Reads metrics as Prometheus does, as far as the tests need it. */
import type { TestGateway } from '../harness/gateway.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function samplesIn(text: string): readonly Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === '') throw new Error(`not a sample: ${line}`);
      const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)];
      return { name, labels: Object.fromEntries(pairs.map(([, key, text]) => [key, text])), value: Number(value) };
    });
}

export function scrape({ metrics }: Pick<TestGateway, 'metrics'>): readonly Sample[] {
  return samplesIn(metrics.text('openmetrics'));
}

/** The sum of the samples with this name and at least these labels. */
export function total(samples: readonly Sample[], name: string, labels: Sample['labels'] = {}): number {
  const fits = (sample: Sample) =>
    sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
  return samples.filter(fits).reduce((sum, { value }) => sum + value, 0);
}
