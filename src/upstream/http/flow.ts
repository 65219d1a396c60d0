/**
 * The messages of a backend's event stream, across the connections that carry it, no faster than a backend may flood.
 */
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
  /** `resultBytes`: of one event. */
  readonly limits: { readonly resultBytes: number };
  /** Shared with the other streams of the backend. */
  readonly flood: FloodBudget;
  readonly clock: FloodClock;
  readonly notes: ChannelNotes;
}

export interface FlowListener {
  /** Each event, ahead of its messages. What this throws breaks the stream. */
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

  /** `where`: how the log names the stream. */
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

  /** A connection stands: the first, or one over which the stream goes on. */
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

  /** The connection is gone. What came before that is handed on. */
  closed(): void {
    this.#controller = undefined;
    this.#throttle.release();
  }

  /** Nothing more is wanted. */
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
