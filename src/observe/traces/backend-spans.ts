/** CLIENT spans: one for each message to one backend that belongs to a client's message. */
import type { BackendConfig } from '../../config/config.ts';
import type { CallOutcome } from '../../exchange/call.ts';
import type { CallObserver, ObservedCall } from '../../exchange/observer.ts';
import { ourselves } from '../../exchange/own-call.ts';
import type { BackendTracer, ReceivedAsk, SentTrace, Trace } from '../../exchange/trace.ts';
import type { Notification, Request } from '../../wire/message.ts';
import { era } from '../../wire/revisions.ts';
import type { TraceFields } from '../../wire/trace-fields.ts';
import { type AskedIn, ReceivedAskSpan } from './ask-spans.ts';
import { newSpanId } from './ids.ts';
import { type Bridging, MessageTrace } from './message-trace.ts';
import { attribute, overHttp, overPipe } from './names.ts';
import { OpenSpan, type SpanAttributes, type SpanSink } from './open-span.ts';
import { operationOf, outcomeFault, toolFault, withFault } from './operation.ts';
import { traceparentOf } from './trace-context.ts';

/** The place of one message to a backend. */
class CallTrace implements SentTrace, AskedIn {
  readonly of: MessageTrace;
  readonly fields: TraceFields | undefined;
  readonly span: OpenSpan | undefined = undefined;

  constructor(of: MessageTrace, isSent: boolean) {
    this.of = of;
    const { traceId, isSampled, tracestate, baggage, span, sink } = of;
    if (!isSent && span === undefined) return;
    const spanId = newSpanId();
    if (isSent) this.fields = { traceparent: traceparentOf(traceId, spanId, isSampled), tracestate, baggage };
    if (span === undefined) return;
    this.span = new OpenSpan({
      place: { traceId, spanId, isSampled, tracestate },
      parent: { spanId: span.place.spanId, isRemote: false },
      kind: 'client',
      timeline: span.timeline,
      sink,
    });
  }

  get traceId(): string {
    return this.of.traceId;
  }

  get isSampled(): boolean {
    return this.of.isSampled;
  }

  get tracestate(): string | undefined {
    return this.of.tracestate;
  }

  get sink(): SpanSink {
    return this.of.sink;
  }
}

const nothingSent: SentTrace = { fields: undefined };

export class BackendSpans implements BackendTracer, CallObserver {
  readonly #isSent: boolean;
  readonly #attributes: SpanAttributes;

  constructor(settings: BackendConfig, propagates: boolean) {
    this.#isSent = propagates && settings.traces !== 'none';
    this.#attributes = peerOf(settings);
  }

  request(trace: Trace): SentTrace {
    return trace instanceof MessageTrace ? new CallTrace(trace, this.#isSent) : nothingSent;
  }

  notification(trace: Trace, notification: Notification): SentTrace {
    const sent = this.request(trace);
    if (sent instanceof CallTrace) sent.span?.end(() => this.#described(operationOf(notification, undefined)));
    return sent;
  }

  asked(call: SentTrace, message: Request): ReceivedAsk | undefined {
    return call instanceof CallTrace ? new ReceivedAskSpan(call, message, this.#attributes) : undefined;
  }

  began({ trace, request, revision }: ObservedCall): void {
    if (!(trace instanceof CallTrace) || trace.span === undefined) return;
    trace.span.begin();
    // The gateway reads lists as itself, whatever the client speaks.
    if (request.client !== ourselves && revision !== undefined)
      trace.of.bridging = bridgingOf(era(request.client.revision), era(revision));
  }

  acknowledged(call: ObservedCall): void {
    this.ended(call, undefined);
  }

  ended({ trace, request, id, revision }: ObservedCall, outcome: CallOutcome | undefined): void {
    if (!(trace instanceof CallTrace) || trace.span === undefined || trace.span.isOver) return;
    const fault = outcomeFault(outcome, request.row.method);
    trace.of.isToolError = fault === toolFault;
    trace.span.end(() => {
      const described = this.#described(operationOf(request.message, id));
      if (revision !== undefined) described.attributes[attribute.revision] = revision;
      return withFault(described, fault);
    });
  }

  #described({ name, attributes }: ReturnType<typeof operationOf>): ReturnType<typeof operationOf> {
    return { name, attributes: { ...this.#attributes, ...attributes } };
  }
}

type EraName = ReturnType<typeof era>;

function bridgingOf(client: EraName, backend: EraName): Bridging {
  if (client === backend) return 'none';
  return client === 'legacy' ? 'old-to-new' : 'new-to-old';
}

/** What all spans to one backend have in common. */
function peerOf(settings: BackendConfig): SpanAttributes {
  const { name, kind } = settings;
  if (kind === 'stdio') return { [attribute.backend]: name, ...overPipe };
  const { hostname, port, protocol } = new URL(settings.url);
  return {
    [attribute.backend]: name,
    ...overHttp,
    [attribute.serverAddress]: hostname,
    [attribute.serverPort]: Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}
