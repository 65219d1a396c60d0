/** Everything that a scrape reads, as text. */
import { Gauges, type MetricSources, readGauges } from './gauges.ts';
import type { ProcessGauges } from './process-gauges.ts';
import type { Recorder } from './recorder.ts';
import type { Series } from './series.ts';
import { type TextFormat, writeText } from './text.ts';

export class Metrics {
  readonly #recorder: Recorder;
  readonly #sources: MetricSources;
  readonly #process: Pick<ProcessGauges, 'read'>;

  constructor(recorder: Recorder, sources: MetricSources, ofProcess: Pick<ProcessGauges, 'read'>) {
    this.#recorder = recorder;
    this.#sources = sources;
    this.#process = ofProcess;
  }

  text(format: TextFormat): string {
    const all = [...this.#recorder.series, ...readGauges(this.#sources), ...this.#process.read()];
    return writeText([...all, ...this.#overflow(all)], format);
  }

  #overflow(all: readonly Series[]): readonly Series[] {
    const gauges = new Gauges();
    gauges.set('overflow', this.#recorder.names.leftOut, 'names');
    for (const { family, overflowed } of all) if (overflowed > 0) gauges.set('overflow', overflowed, family.name);
    return gauges.all();
  }
}
