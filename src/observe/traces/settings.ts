/** The settings of traces: read in config/traces.ts, from the file and from the variables of OpenTelemetry. */

/** What becomes of the trace context that a client sends. */
export const traceTrusts = ['parent', 'link', 'none'] as const;
export type TraceTrust = (typeof traceTrusts)[number];

/** Whether a backend is sent trace context. */
export const traceSendings = ['send', 'none'] as const;
export type TraceSending = (typeof traceSendings)[number];

export interface SamplerSettings {
  /** Whether the decision of a trusted parent is kept. */
  readonly parentBased: boolean;
  /** The share of traces that are exported where no parent has decided: 0 to 1. */
  readonly ratio: number;
}

export interface TraceSettings {
  /** The whole address that spans are sent to. */
  readonly url: string;
  /** Besides the headers of `OTEL_EXPORTER_OTLP_HEADERS`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sampler: SamplerSettings;
  /** `service.name` and other attributes of this process. */
  readonly resource: Readonly<Record<string, string>>;
  /** False: trace context is neither read nor written (`OTEL_PROPAGATORS=none`). */
  readonly propagates: boolean;
  /** Keys of baggage that are passed on. */
  readonly baggage: readonly string[];
  readonly batches: BatchSettings;
}

export interface BatchSettings {
  readonly queue: number;
  readonly batch: number;
  readonly delayMs: number;
  readonly timeoutMs: number;
}
