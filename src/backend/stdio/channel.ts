/** A channel over one process: everything shares two pipes, and answers are found by their ids. */
import { Failure } from '../../errors.ts';
import { lineBytes } from '../../wire/lines.ts';
import type { Message, Response } from '../../wire/message.ts';
import type { Channel, ChannelNotes, ChannelSink, Outgoing, Pending, RequestSink } from '../channel.ts';
import { excerpt } from '../incoming.ts';
import type { Child } from './child.ts';

export interface StdioChannelOptions {
  /** Owned from now on: closing the channel ends it. */
  readonly child: Child;
  readonly sink: ChannelSink;
  readonly notes: ChannelNotes;
}

class Waiting implements Pending {
  readonly id: string;
  readonly sink: RequestSink;
  readonly #all: Map<string, Waiting>;

  constructor(all: Map<string, Waiting>, id: string, sink: RequestSink) {
    this.#all = all;
    this.id = id;
    this.sink = sink;
  }

  /** Whether it was still waited for. */
  take(): boolean {
    return this.#all.get(this.id) === this && this.#all.delete(this.id);
  }

  abort(): void {
    this.take();
  }
}

export class StdioChannel implements Channel {
  readonly streamPerRequest = false;
  readonly #child: Child;
  readonly #sink: ChannelSink;
  readonly #notes: ChannelNotes;
  readonly #waiting = new Map<string, Waiting>();
  #closed = false;

  constructor(options: StdioChannelOptions) {
    this.#child = options.child;
    this.#sink = options.sink;
    this.#notes = options.notes;
    this.#child.attach({
      message: (message) => this.#onMessage(message),
      oversized: (failure) => this.#onOversized(failure),
      exited: (failure) => this.#onExit(failure),
      busy: () => this.#waiting.size > 0,
    });
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const waiting = new Waiting(this.#waiting, outgoing.id, sink);
    if (this.#waiting.has(outgoing.id)) throw new Failure('internal_error', { cause: 'an id is used twice' });
    this.#waiting.set(outgoing.id, waiting);
    try {
      this.#child.send(lineBytes(outgoing.bytes));
    } catch (cause) {
      const failure = asFailure(cause);
      // Not before the caller has its Pending.
      queueMicrotask(() => {
        if (waiting.take()) sink.failed(failure, undefined);
      });
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

  listen(): void {
    // Whatever the backend has to say comes on its stdout anyway.
  }

  async forget(): Promise<void> {
    // A process is its session: it ends with `close`.
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#failAll(new Failure('backend_unavailable', { message: 'The way to the backend was closed' }));
    return this.#child.stop();
  }

  #onMessage(message: Message): void {
    if (this.#closed) return;
    if (message.kind === 'request' || message.kind === 'notification') this.#sink.stray(message);
    else this.#onResponse(message);
  }

  #onResponse(message: Response): void {
    const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id.key);
    if (waiting?.take()) waiting.sink.answered(message, undefined);
    else this.#notes.noise('unknown_id', excerpt(message.bytes));
  }

  /** A skipped line has no id that could be read; where only one request waits, there is no doubt whose answer it was. */
  #onOversized(failure: Failure): void {
    if (this.#waiting.size === 1) this.#failAll(failure);
  }

  #onExit(failure: Failure): void {
    this.#failAll(failure);
    if (!this.#closed) this.#sink.lost(failure);
  }

  #failAll(failure: Failure): void {
    for (const waiting of [...this.#waiting.values()]) {
      if (waiting.take()) waiting.sink.failed(failure, undefined);
    }
  }
}

function asFailure(cause: unknown): Failure {
  return cause instanceof Failure ? cause : new Failure('internal_error', { cause });
}
