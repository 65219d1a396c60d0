/** What the process itself costs, under the names that dashboards for Node.js know. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauges } from './gauges.ts';
import type { Series } from './series.ts';

/** Milliseconds between two looks at the event loop: fifty wake-ups a second cost nothing that could be measured. */
const RESOLUTION = 20;
const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

export class ProcessGauges {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  readonly #startedAt = Date.now() / 1_000 - process.uptime();

  constructor() {
    this.#delay.enable();
  }

  read(): readonly Series[] {
    const gauges = new Gauges();
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    gauges.set('cpu', (user + system) / MICROSECONDS);
    gauges.set('started', this.#startedAt);
    gauges.set('resident', rss);
    gauges.set('heapUsed', heapUsed);
    gauges.set('heapTotal', heapTotal);
    gauges.set('external', external);
    const delay = this.#delay;
    // Without any look yet there is no mean.
    gauges.set('lagMean', Number.isNaN(delay.mean) ? 0 : delay.mean / NANOSECONDS);
    gauges.set('lagP99', delay.percentile(99) / NANOSECONDS);
    gauges.set('lagMax', delay.max / NANOSECONDS);
    delay.reset();
    return gauges.all();
  }

  close(): void {
    this.#delay.disable();
  }
}
