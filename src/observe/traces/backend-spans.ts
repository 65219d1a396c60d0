/**
 * CLIENT spans: one for each message to one backend. Their parent is the client's message that they belong to. Requests
 * of the gateway itself, which may serve several clients or none, begin traces of their own.
 */
import type { BackendConfig } from '../../config/config.ts';
import { Failure } from '../../errors/failure.ts';
import type { CallOutcome } from '../../exchange/call.ts';
import type { CallObserver, ObservedCall } from '../../exchange/observer.ts';
import { ourselves } from '../../exchange/own-call.ts';
import type { BackendTracer, ReceivedAsk, SentTrace, ToldOpening, Trace } from '../../exchange/trace.ts';
import type { Notification, Request, Response } from '../../wire/message.ts';
import { era } from '../../wire/revisions.ts';
import type { TraceFields } from '../../wire/trace-fields.ts';
import { type AskedIn, ReceivedAskSpan } from './ask-spans.ts';
import { newSpanId, newTraceId } from './ids.ts';
import { type Bridging, MessageTrace } from './message-trace.ts';
import { attribute, overHttp, overPipe } from './names.ts';
import { OpenSpan, type SpanAttributes, type SpanSink, Timeline } from './open-span.ts';
import {
  errorFault,
  failureFault,
  operationOf,
  outcomeFault,
  type SpanFault,
  toolFault,
  withFault,
} from './operation.ts';
import { isSampled } from './sampler.ts';
import type { SamplerSettings, TraceSettings } from './settings.ts';
import { traceparentOf } from './trace-context.ts';

/** A trace that a request of the gateway itself begins. */
type OwnTrace = Pick<MessageTrace, 'traceId' | 'isSampled' | 'tracestate' | 'baggage' | 'sink' | 'span'> &
  Partial<Pick<MessageTrace, 'bridging' | 'isToolError'>>;

/** The place of one message to a backend. */
class CallTrace implements SentTrace, AskedIn {
  readonly of: MessageTrace | OwnTrace;
  readonly fields: TraceFields | undefined;
  readonly span: OpenSpan | undefined = undefined;

  constructor(of: MessageTrace | OwnTrace, isSent: boolean) {
    this.of = of;
    const { traceId, isSampled, tracestate, baggage, span, sink } = of;
    if (!isSent && !isSampled) return;
    const spanId = newSpanId();
    if (isSent) this.fields = { traceparent: traceparentOf(traceId, spanId, isSampled), tracestate, baggage };
    if (!isSampled) return;
    this.span = new OpenSpan({
      place: { traceId, spanId, isSampled, tracestate },
      parent: span && { spanId: span.place.spanId, isRemote: false },
      kind: 'client',
      timeline: span?.timeline ?? new Timeline(),
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

const noBytes = new Uint8Array();
const nothingSent: SentTrace = { fields: undefined };

export class BackendSpans implements BackendTracer, CallObserver {
  readonly #isSent: boolean;
  readonly #sampler: SamplerSettings;
  readonly #sink: SpanSink;
  readonly #attributes: SpanAttributes;

  constructor(backend: BackendConfig, { propagates, sampler }: TraceSettings, sink: SpanSink) {
    this.#isSent = propagates && backend.traces !== 'none';
    this.#sampler = sampler;
    this.#sink = sink;
    this.#attributes = peerOf(backend);
  }

  request(trace: Trace | undefined): SentTrace {
    if (trace === undefined) return new CallTrace(this.#ownTrace(), this.#isSent);
    return trace instanceof MessageTrace ? new CallTrace(trace, this.#isSent) : nothingSent;
  }

  notification(trace: Trace, notification: Notification): SentTrace {
    const sent = this.request(trace);
    if (sent instanceof CallTrace) sent.span?.end(() => this.#described(operationOf(notification, undefined)));
    return sent;
  }

  opening(method: string, id: string): ToldOpening {
    const { span } = new CallTrace(this.#ownTrace(), false);
    return (answer) => {
      const fault = answer instanceof Failure ? failureFault(answer) : openingFault(answer);
      span?.end(() =>
        withFault(this.#described(operationOf({ bytes: noBytes, method, params: undefined }, id)), fault),
      );
    };
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

  #ownTrace(): OwnTrace {
    const traceId = newTraceId();
    const sampled = isSampled(this.#sampler, traceId, undefined);
    const nothing = { tracestate: undefined, baggage: undefined, span: undefined };
    return { traceId, isSampled: sampled, sink: this.#sink, ...nothing };
  }

  #described({ name, attributes }: ReturnType<typeof operationOf>): ReturnType<typeof operationOf> {
    return { name, attributes: { ...this.#attributes, ...attributes } };
  }
}

function openingFault(answer: Response): SpanFault | undefined {
  return answer.kind === 'error' ? errorFault(answer) : undefined;
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
