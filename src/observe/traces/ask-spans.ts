/**
 * Spans of server requests: SERVER from the backend's request to our answer, and CLIENT from our request to the
 * client's answer. A legacy client gets the trace context in `_meta` of the request.
 */
import type { ServerRequestReply } from '../../exchange/call.ts';
import type { ReceivedAsk, SentAsk } from '../../exchange/trace.ts';
import type { Request } from '../../wire/message.ts';
import type { TraceFields } from '../../wire/trace-fields.ts';
import { newSpanId } from './ids.ts';
import { OpenSpan, type SpanAttributes, type SpanParent, type SpanSink } from './open-span.ts';
import { operationOf, replyFault, withFault } from './operation.ts';
import { readerOfMeta } from './read-fields.ts';
import { placeFrom, type SpanPlace, traceparentOf } from './trace-context.ts';

/** The message or call that a server request belongs to. */
export interface AskedIn {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
  /** Set for sampled traces. */
  readonly span: OpenSpan | undefined;
  readonly sink: SpanSink;
}

export class SentAskSpan implements SentAsk {
  readonly fields: TraceFields;
  readonly #span: OpenSpan | undefined;
  readonly #message: Request;

  constructor(asked: AskedIn, message: Request) {
    const spanId = newSpanId();
    const { traceId, isSampled, tracestate } = asked;
    this.fields = { traceparent: traceparentOf(traceId, spanId, isSampled), tracestate };
    this.#message = message;
    this.#span = spanIn(asked, spanId, 'client');
  }

  ended(reply: ServerRequestReply | undefined): void {
    this.#span?.end(() => withFault(operationOf(this.#message, undefined), replyFault(reply)));
  }
}

export class ReceivedAskSpan implements ReceivedAsk, AskedIn {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
  readonly span: OpenSpan | undefined;
  readonly sink: SpanSink;
  readonly #message: Request;
  readonly #attributes: SpanAttributes;

  /** `attributes`: those of the backend. */
  constructor(call: AskedIn, message: Request, attributes: SpanAttributes) {
    this.traceId = call.traceId;
    this.isSampled = call.isSampled;
    this.tracestate = call.tracestate;
    this.sink = call.sink;
    this.#message = message;
    this.#attributes = attributes;
    if (call.span === undefined) return;
    // A backend that continues our trace names its own span. It cannot choose another trace: that becomes a link.
    const sender = placeFrom(readerOfMeta(message));
    const isOurs = sender?.traceId === call.traceId;
    const parent = isOurs ? { spanId: sender.spanId, isRemote: true } : undefined;
    this.span = spanIn(call, newSpanId(), 'server', parent, isOurs || sender === undefined ? [] : [sender]);
  }

  relayed(message: Request): SentAsk {
    return new SentAskSpan(this, message);
  }

  ended(reply: ServerRequestReply | undefined): void {
    this.span?.end(() => {
      const { name, attributes } = operationOf(this.#message, this.#message.id.raw);
      return withFault({ name, attributes: { ...this.#attributes, ...attributes } }, replyFault(reply));
    });
  }
}

/** A span below that of the message or call, or below another parent. Undefined where the trace is not sampled. */
function spanIn(
  { span, sink, traceId, isSampled, tracestate }: AskedIn,
  spanId: string,
  kind: 'server' | 'client',
  parent?: SpanParent,
  links: readonly SpanPlace[] = [],
): OpenSpan | undefined {
  if (span === undefined) return undefined;
  const { timeline } = span;
  return new OpenSpan({
    place: { traceId, spanId, isSampled, tracestate },
    parent: parent ?? { spanId: span.place.spanId, isRemote: false },
    ...{ kind, timeline, sink, links },
  });
}
