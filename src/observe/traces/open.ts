/** Traces, as the gateway uses them. Loaded only where they are configured. */
import type { BackendConfig } from '../../config/config.ts';
import type { CallObserver } from '../../exchange/observer.ts';
import type { BackendTracer, MessageTracer } from '../../exchange/trace.ts';
import type { RequestContext } from '../../pipeline/context.ts';
import type { Watcher } from '../watchers.ts';
import { BackendSpans } from './backend-spans.ts';
import { SpanExport, type SpanExportPorts } from './export.ts';
import { MessageSpans } from './message-tracer.ts';
import type { SpanSink } from './open-span.ts';
import type { TraceSettings } from './settings.ts';

export interface Traces {
  readonly messages: NonNullable<Watcher['messages']> & MessageTracer<RequestContext>;
  /** Made once for each backend: it outlives the processes and connections of the backend. */
  backend(settings: BackendConfig): BackendTracer & CallObserver;
  /** Sends what is waiting, for at most so long. Never rejects. */
  close(withinMs: number): Promise<void>;
}

export function openTraces(settings: TraceSettings, ports: SpanExportPorts): Traces {
  const exporting = new SpanExport(settings, ports);
  const sink: SpanSink = (span) => exporting.add(span);
  return {
    messages: new MessageSpans(settings, sink),
    backend: (backend) => new BackendSpans(backend, settings, sink),
    close: (withinMs) => exporting.close(withinMs),
  };
}
