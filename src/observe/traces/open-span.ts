/** A span that is being measured. Exists for sampled traces only. */
import type { SpanPlace } from './trace-context.ts';

export type SpanAttributes = Record<string, string | number | readonly string[]>;

/** A span that is over, as the exporter gets it. */
export interface FinishedSpan {
  readonly place: SpanPlace;
  readonly parent: SpanParent | undefined;
  readonly kind: SpanKindName;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly links: readonly SpanPlace[];
  /** Set where the operation failed; the text may be empty. */
  readonly error: string | undefined;
}

export type SpanSink = (span: FinishedSpan) => void;

/** `server`: we received the message. `client`: we sent it. */
export type SpanKindName = 'server' | 'client';

export interface SpanParent {
  readonly spanId: string;
  /** The parent is a span of another process. */
  readonly isRemote: boolean;
}

/**
 * The time of the spans of one message. Read from the clock of the machine once, so that a correction of that clock
 * makes no span negative.
 */
export class Timeline {
  readonly #offset = Date.now() - performance.now();

  now(): number {
    return this.#offset + performance.now();
  }
}

export interface OpenSpanOptions extends Pick<FinishedSpan, 'place' | 'parent' | 'kind'> {
  readonly timeline: Timeline;
  readonly sink: SpanSink;
  readonly links?: readonly SpanPlace[];
}

/** What is known of a span when it ends. */
export interface SpanEnd extends Pick<FinishedSpan, 'name' | 'attributes'> {
  readonly error?: string | undefined;
}

export class OpenSpan {
  readonly place: SpanPlace;
  readonly timeline: Timeline;
  readonly #options: OpenSpanOptions;
  #startMs: number;
  #isOver = false;

  constructor(options: OpenSpanOptions) {
    this.place = options.place;
    this.timeline = options.timeline;
    this.#options = options;
    this.#startMs = options.timeline.now();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The message is sent only now. */
  begin(): void {
    this.#startMs = this.timeline.now();
  }

  /** Hands the span to the exporter, once. `describe` is not called again. */
  end(describe: () => SpanEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { place, parent, kind, links = [], sink } = this.#options;
    const { name, attributes, error } = describe();
    sink({ place, parent, kind, links, name, attributes, error, startMs: this.#startMs, endMs: this.timeline.now() });
  }
}
