/** Counts that the workers of one machine share: the primary process has them, and workers ask it by messages. */
import type { AttemptCounter, Bucket, SharedCounts, SlotRequest, TakenTokens } from '../store/counts.ts';
import { MemoryCounts } from './memory-counts.ts';

/** The end of a channel between two processes, at either of them. */
export interface WorkerChannel {
  on(event: 'message', hear: (message: unknown) => void): unknown;
  /** False, or an error, where the message cannot be sent. */
  send(message: object, sent: (error: Error | null) => void): unknown;
}

const KIND = 'bascule counts';
/** Questions without an answer: some seconds of them, which their callers have given up. */
const MOST_WAITING = 5_000;

type CountOperation = keyof SharedCounts;

interface CountQuestion {
  readonly kind: typeof KIND;
  readonly id: number;
  readonly operation: CountOperation;
  readonly with: readonly unknown[];
}

interface CountAnswer {
  readonly kind: typeof KIND;
  readonly id: number;
  readonly result: unknown;
}

/** In a worker. The caller limits the time: an answer that comes later is dropped. */
export class CountsAtPrimary implements SharedCounts {
  readonly #channel: WorkerChannel;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #asked = 0;

  constructor(channel: WorkerChannel) {
    this.#channel = channel;
    channel.on('message', (message) => {
      const { kind, id, result } = message as CountAnswer;
      if (kind !== KIND) return;
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  take(key: string, bucket: Bucket, most: number): Promise<TakenTokens> {
    return this.#ask('take', [key, bucket, most]) as Promise<TakenTokens>;
  }

  hold(key: string, request: SlotRequest): Promise<number> {
    return this.#ask('hold', [key, request]) as Promise<number>;
  }

  attempt(counters: readonly AttemptCounter[]): Promise<number> {
    return this.#ask('attempt', [counters]) as Promise<number>;
  }

  async takeBack(counters: readonly AttemptCounter[], forgotten: readonly AttemptCounter[] = []): Promise<void> {
    await this.#ask('takeBack', [counters, forgotten]);
  }

  #ask(operation: CountOperation, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#asked;
    // The oldest was given up long ago by its caller.
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= MOST_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      const question: CountQuestion = { kind: KIND, id, operation, with: args };
      this.#channel.send(question, (error) => {
        if (error === null) return;
        this.#waiting.delete(id);
        reject(error);
      });
    });
  }
}

/** In the primary process. */
export class PrimaryCounts {
  readonly #counts: MemoryCounts;

  /** `now`: in milliseconds. */
  constructor(now: () => number) {
    this.#counts = new MemoryCounts(now);
  }

  /** Answers one worker until it has ended. Call the returned function then: its slots are free. */
  serve(member: string, channel: WorkerChannel): () => void {
    const counts = this.#counts.of(member);
    channel.on('message', (message) => {
      const { kind, id, operation, with: args } = message as CountQuestion;
      if (kind !== KIND) return;
      const counting = counts[operation] as (...given: readonly unknown[]) => Promise<unknown>;
      // A worker that has ended needs no answer.
      void counting(...args).then((result) => channel.send({ kind: KIND, id, result }, () => undefined));
    });
    return () => this.#counts.forget(member);
  }
}
