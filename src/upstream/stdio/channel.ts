/** A channel over one process: all messages share its pipes, and responses are matched by id. */
import { Failure } from '../../errors/failure.ts';
import { lineBytes } from '../../wire/lines.ts';
import { asFailure } from '../as-failure.ts';
import type { Channel, ChannelNotes, ChannelSink, Outgoing, Pending, RequestSink } from '../channel.ts';
import { Correlation } from '../correlation.ts';
import type { Child } from './child.ts';

export interface StdioChannelOptions {
  /** Owned by the channel: closing the channel ends the process. */
  readonly child: Child;
  readonly sink: ChannelSink;
  readonly notes: ChannelNotes;
}

export class StdioChannel implements Channel {
  readonly streamPerRequest = false;
  readonly #child: Child;
  readonly #sink: ChannelSink;
  readonly #waiting: Correlation;
  #closed = false;

  constructor(options: StdioChannelOptions) {
    this.#child = options.child;
    this.#sink = options.sink;
    this.#waiting = new Correlation(options.notes, () => this.#child.rested());
    this.#child.attach({
      message: (message) => (this.#closed ? 'none' : this.#waiting.receive(message, this.#sink)),
      oversized: (failure) => this.#onOversized(failure),
      unreadable: (line) => this.#waiting.unreadable(line),
      exited: (failure) => this.#onExit(failure),
      busy: () => this.#waiting.size > 0,
    });
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const waiting = this.#waiting.add(outgoing.id, sink);
    try {
      this.#child.send(lineBytes(outgoing.bytes));
      this.#child.touch();
    } catch (cause) {
      const failure = asFailure(cause);
      // Only after the caller has its Pending.
      queueMicrotask(() => waiting.fail(failure));
    }
    return waiting;
  }

  async post(message: Uint8Array, _headers?: Readonly<Record<string, string>>): Promise<void> {
    try {
      this.#child.send(lineBytes(message));
    } catch (cause) {
      throw asFailure(cause);
    }
  }

  keepWhile(wanted: () => boolean): void {
    this.#child.keepWhile(wanted);
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#waiting.failAll(new Failure('backend_unavailable', { message: 'The connection to the backend was closed' }));
    return this.#child.stop();
  }

  /** A skipped line has no readable id. Where only one request waits, the line must have been its response. */
  #onOversized(failure: Failure): void {
    if (this.#waiting.size === 1) this.#waiting.failAll(failure);
  }

  #onExit(failure: Failure): void {
    this.#waiting.failAll(failure);
    if (!this.#closed) this.#sink.lost(failure);
  }
}
