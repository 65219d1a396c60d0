/** The messages of a backend's event stream, across its connections, limited by the flood budget. */
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { Message } from '../../wire/message.ts';
import type { SseEvent } from '../../wire/sse.ts';
import { asFailure } from '../as-failure.ts';
import type { ChannelNotes, Reception } from '../channel.ts';
import { type FloodBudget, type FloodClock, floodFailure } from '../flood-meter.ts';
import { readEvent } from '../incoming.ts';
import { Throttle } from '../throttle.ts';
import { EventCursor, messageIn } from './cursor.ts';

export interface FlowContext {
  /** `resultBytes`: limit of one event. */
  readonly limits: { readonly resultBytes: number };
  /** Shared with the other streams of the backend. */
  readonly flood: FloodBudget;
  readonly clock: FloodClock;
  readonly notes: ChannelNotes;
}

export interface FlowListener {
  /** Called for each event, before its messages. An exception breaks the stream. */
  event?(event: SseEvent): void;
  message(message: Message): Reception;
  /** Nothing more can be read on this connection. */
  broken(failure: Failure): void;
  /** The backend flooded for too long. */
  flooded(failure: Failure): void;
}

export class EventFlow {
  readonly #notes: ChannelNotes;
  readonly #listener: FlowListener;
  readonly #cursor: EventCursor;
  readonly #throttle: Throttle<SseEvent | Failure>;
  #controller: Dispatcher.DispatchController | undefined;

  /** `where`: the name of the stream in the log. */
  constructor({ limits, flood, clock, notes }: FlowContext, where: string, listener: FlowListener) {
    this.#notes = notes;
    this.#listener = listener;
    this.#cursor = new EventCursor(limits.resultBytes);
    this.#throttle = new Throttle(flood, clock, {
      take: (item) => this.#take(item),
      pause: () => {
        this.#controller?.pause();
        notes.flood('paused', where);
      },
      resume: () => this.#controller?.resume(),
      flooded: () => {
        notes.flood('ended', where);
        listener.flooded(floodFailure());
      },
    });
  }

  get lastEventId(): string | undefined {
    return this.#cursor.lastEventId;
  }

  get retryMs(): number | undefined {
    return this.#cursor.retryMs;
  }

  get isFlooding(): boolean {
    return this.#throttle.isFlooding;
  }

  /** A connection is open: the first one, or one that continues the stream. */
  opened(controller: Dispatcher.DispatchController): void {
    this.#cursor.opened();
    this.#throttle.restart();
    this.#controller = controller;
    if (this.#throttle.isPaused) controller.pause();
  }

  push(chunk: Buffer): void {
    const items = this.#cursor.read(chunk);
    this.#throttle.countNoise(this.#cursor.takeEmptyLines(), 0);
    this.#throttle.countLines(this.#cursor.takeFurtherLines());
    this.#throttle.push(items);
  }

  /** The connection is closed. Events that arrived before are passed on. */
  closed(): void {
    this.#controller = undefined;
    this.#throttle.release();
  }

  /** Discards what is held, and stops counting. */
  stop(): void {
    this.#throttle.stop();
    this.#throttle.drop();
  }

  #take(item: SseEvent | Failure): void {
    try {
      if (item instanceof Failure) throw item;
      this.#hear(item);
    } catch (cause) {
      this.#throttle.drop();
      this.#listener.broken(asFailure(cause));
    }
  }

  #hear(event: SseEvent): void {
    this.#listener.event?.(event);
    const data = this.#cursor.isNew(event) ? messageIn(event) : undefined;
    const messages = data && readEvent(data, this.#notes);
    if (messages === undefined) this.#throttle.count('none', event.data?.byteLength ?? 0);
    else
      for (const message of messages) {
        if (this.#throttle.isEnded) return;
        this.#throttle.count(this.#listener.message(message), message.bytes.byteLength);
      }
  }
}
