/**
 * The only file that loads OpenTelemetry. Its batches and its exporter send our spans over OTLP/HTTP. The queue is
 * bounded: a collector that is slow or gone costs neither time nor memory, and what is lost is counted.
 */
import { createTraceState, DiagLogLevel, diag, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { ExportResult, InstrumentationScope } from '@opentelemetry/core';
import { ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { about } from '../../wire/about.ts';
import type { CoalescedLog } from '../coalesced.ts';
import type { Counters } from '../counters.ts';
import { cut, schemaUrl } from './names.ts';
import type { FinishedSpan, SpanKindName } from './open-span.ts';
import type { TraceSettings } from './settings.ts';
import type { SpanPlace } from './trace-context.ts';

export interface SpanExportPorts {
  readonly log: CoalescedLog;
  readonly counters: Counters;
}

const kinds: Readonly<Record<SpanKindName, SpanKind>> = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

export class SpanExport {
  readonly #processor: BatchSpanProcessor;
  readonly #exporter: CountingExporter;
  readonly #queue: number;
  readonly #resource: Resource;
  readonly #scope: InstrumentationScope = { name: about.name, version: about.version, schemaUrl };
  readonly #ports: SpanExportPorts;
  /** Spans that were added and that the exporter has not taken yet. */
  #added = 0;

  constructor({ url, headers, resource, batches }: TraceSettings, ports: SpanExportPorts) {
    this.#ports = ports;
    this.#queue = batches.queue;
    hearOpenTelemetry(ports.log);
    this.#resource = resourceFromAttributes(resource);
    this.#exporter = new CountingExporter(new OTLPTraceExporter({ url, headers: { ...headers } }), ports);
    this.#processor = new BatchSpanProcessor({
      exporter: this.#exporter,
      maxQueueSize: batches.queue,
      maxExportBatchSize: batches.batch,
      scheduledDelayMillis: batches.delayMs,
      exportTimeoutMillis: batches.timeoutMs,
    });
  }

  add(span: FinishedSpan): void {
    if (this.#added - this.#exporter.taken >= this.#queue) {
      this.#ports.counters.count('traces.dropped');
      this.#ports.log.tell(
        'warn',
        'traces dropped',
        {},
        'spans were dropped: the collector of traces is too slow or gone',
      );
      return;
    }
    this.#added += 1;
    this.#processor.onEnd(this.#readable(span));
  }

  /** Sends what is waiting, for at most so long. Never rejects. */
  async close(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([this.#processor.shutdown().catch(() => undefined), over]);
    clearTimeout(timer);
    this.#exporter.lost(this.#added - this.#exporter.settled, 'the process stops');
  }

  #readable({ place, parent, kind, name, startMs, endMs, attributes, links, error }: FinishedSpan): ReadableSpan {
    const context = contextOf(place, false);
    return {
      name,
      kind: kinds[kind],
      spanContext: () => context,
      ...(parent && { parentSpanContext: { ...contextOf(place, parent.isRemote), spanId: parent.spanId } }),
      startTime: timeOf(startMs),
      endTime: timeOf(endMs),
      duration: timeOf(endMs - startMs),
      status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
      attributes: attributes as ReadableSpan['attributes'],
      links: links.map((link) => ({ context: contextOf(link, true), attributes: {} })),
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: this.#scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

function contextOf({ traceId, spanId, isSampled, tracestate }: SpanPlace, isRemote: boolean) {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  const state = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  return { traceId, spanId, isRemote, traceFlags, ...state };
}

/** Seconds and nanoseconds. */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}

/** Knows how many spans have left the queue, and how many of them were lost. */
class CountingExporter implements SpanExporter {
  taken = 0;
  /** Sent, or lost. */
  settled = 0;
  readonly #exporter: SpanExporter;
  readonly #ports: SpanExportPorts;

  constructor(exporter: SpanExporter, ports: SpanExportPorts) {
    this.#exporter = exporter;
    this.#ports = ports;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.taken += spans.length;
    this.#exporter.export(spans, (result) => {
      this.settled += spans.length;
      if (result.code === ExportResultCode.SUCCESS) this.#ports.counters.count('traces.exported', spans.length);
      else this.lost(spans.length, result.error === undefined ? 'no reason given' : cut(result.error.message));
      done(result);
    });
  }

  lost(count: number, why: string): void {
    if (count === 0) return;
    const { counters, log } = this.#ports;
    counters.count('traces.lost', count);
    log.tell('warn', 'traces lost', { why }, 'spans were lost: the collector of traces did not take them');
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

/** Warnings of the library go to our log, few at a time. What it reports as an error, `CountingExporter` has told. */
function hearOpenTelemetry(log: CoalescedLog): void {
  const quiet = () => undefined;
  const warn = (text: string) => log.tell('warn', 'traces', { why: cut(String(text)) }, 'a warning of OpenTelemetry');
  diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  setGlobalErrorHandler(quiet);
}
