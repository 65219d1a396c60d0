/** The place of one client message in a trace. It has a span only where the trace is sampled. */
import type { SentAsk, Trace } from '../../exchange/trace.ts';
import type { Request } from '../../wire/message.ts';
import { type AskedIn, SentAskSpan } from './ask-spans.ts';
import { newSpanId } from './ids.ts';
import { OpenSpan, type SpanSink, Timeline } from './open-span.ts';
import type { SpanPlace } from './trace-context.ts';

/** How a call crossed the eras. */
export type Bridging = 'none' | 'old-to-new' | 'new-to-old';

export interface MessageTraceOptions extends Pick<MessageTrace, 'traceId' | 'isSampled' | 'tracestate' | 'baggage'> {
  readonly parent: SpanPlace | undefined;
  readonly links: readonly SpanPlace[];
  readonly sink: SpanSink;
}

export class MessageTrace implements Trace, AskedIn {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
  /** What of the client's baggage may go on. */
  readonly baggage: string | undefined;
  readonly sink: SpanSink;
  readonly span: OpenSpan | undefined = undefined;
  /** Of the last call to a backend. */
  bridging: Bridging | undefined = undefined;
  /** The last call ended with `isError`. */
  isToolError = false;

  constructor({ traceId, isSampled, tracestate, baggage, parent, links, sink }: MessageTraceOptions) {
    this.traceId = traceId;
    this.isSampled = isSampled;
    this.tracestate = tracestate;
    this.baggage = baggage;
    this.sink = sink;
    if (!isSampled) return;
    this.span = new OpenSpan({
      place: { traceId, spanId: newSpanId(), isSampled, tracestate },
      parent: parent && { spanId: parent.spanId, isRemote: true },
      kind: 'server',
      timeline: new Timeline(),
      ...{ links, sink },
    });
  }

  relayed(message: Request): SentAsk {
    return new SentAskSpan(this, message);
  }
}
