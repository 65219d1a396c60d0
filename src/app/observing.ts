/** Makes what watches the gateway while it serves: the recorder of metrics, and the request log. */
import type { LogConfig } from '../config/config.ts';
import type { MetricsConfig } from '../config/metrics.ts';
import type { IngressNotes } from '../downstream/events.ts';
import type { SideListener } from '../downstream/side-listener.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Counters } from '../observe/counters.ts';
import { ingressNotes } from '../observe/event-counts.ts';
import type { FrequentLog, Log } from '../observe/log.ts';
import { startMetrics } from '../observe/metrics/listener.ts';
import { Metrics } from '../observe/metrics/metrics.ts';
import { ProcessGauges } from '../observe/metrics/process-gauges.ts';
import { Recorder } from '../observe/metrics/recorder.ts';
import { RequestLog } from '../observe/request-log.ts';
import type { Watcher } from '../observe/watchers.ts';
import type { Assembled } from './assemble.ts';

export interface ObservingOptions {
  readonly log: Log;
  readonly counters: Counters;
  readonly clock: Clock;
  /** Takes the lines of the request log. `log.info` by default. */
  readonly requestLine?: FrequentLog;
  /** Metrics are served. What is not served is not recorded: it costs some microseconds of every call. */
  readonly isMeasured: boolean;
}

export class Observing {
  readonly watchers: readonly Watcher[];
  readonly notes: IngressNotes;
  readonly #recorder: Recorder;
  readonly #options: ObservingOptions;
  #process: ProcessGauges | undefined;
  #listener: SideListener | undefined;

  constructor({ requests }: Pick<LogConfig, 'requests'>, options: ObservingOptions) {
    const { log, counters, clock, isMeasured, requestLine = log.info } = options;
    this.#options = options;
    this.#recorder = new Recorder(clock);
    const requestLog = requests ? [new RequestLog({ write: requestLine, clock })] : [];
    this.watchers = [...(isMeasured ? [this.#recorder] : []), ...requestLog];
    this.notes = ingressNotes(log, counters, (failure) => this.#recorder.failed(failure));
  }

  /** `server`: the open event streams of clients. */
  metricsOf(assembled: Assembled, server: { readonly streams: number }): Metrics {
    const { shared, currentGeneration } = assembled;
    const { counters } = this.#options;
    const sources = {
      ...{ counters, sessions: shared.sessions, pendingCalls: shared.pendingCalls, toolLists: shared.toolLists },
      get backends() {
        return currentGeneration.now.backends;
      },
      get pins() {
        return currentGeneration.now.pins;
      },
      get generation() {
        return currentGeneration.now.config.generation;
      },
      get streams() {
        return server.streams;
      },
    };
    // Made where it is read: it wakes the process up again and again.
    this.#process ??= new ProcessGauges();
    return new Metrics(this.#recorder, sources, this.#process);
  }

  /** Serves metrics. Rejects where the address cannot be bound. Returns where they are. */
  async serve(listen: MetricsConfig, allowedHosts: readonly string[], metrics: Metrics): Promise<string> {
    const { notes } = this;
    this.#listener = await startMetrics({
      ...{ listen, allowedHosts },
      text: (format) => metrics.text(format),
      hostRefused: (host) => notes.hostRefused(host),
      fault: (error) => void notes.fault(error),
    });
    return this.#listener.url;
  }

  async close(): Promise<void> {
    this.#process?.close();
    await this.#listener?.close();
  }
}
