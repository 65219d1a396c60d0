/**
 * Messages to the listeners of all processes. Listeners of this process get them directly, also while Redis is away;
 * the other processes get them over one channel. A message is sealed with its sender and its number: one that others
 * have written is ignored, and so is one that is sent again.
 */
import { randomUUID } from 'node:crypto';
import { MemoryBus } from '../memory.ts';
import type { Bus, Seal } from '../ports.ts';
import type { RedisConnection } from './connection.ts';
import { RedisSubscription } from './subscription.ts';

interface BusMessage {
  readonly sender: string;
  /** Counts the sender's messages. */
  readonly number: number;
  readonly topic: string;
  readonly message: string;
}

/** Processes whose last number is known. One that was forgotten counts as new. */
const MOST_SENDERS = 1_000;

const CONTEXT = 'bus';

export class RedisBus implements Bus {
  readonly #connection: RedisConnection;
  readonly #seal: Seal;
  readonly #channel: string;
  readonly #subscription: RedisSubscription;
  readonly #local = new MemoryBus();
  readonly #own = randomUUID();
  #sent = 0;
  /** The number of the last message of each sender. */
  readonly #last = new Map<string, number>();

  constructor(connection: RedisConnection, seal: Seal) {
    this.#connection = connection;
    this.#seal = seal;
    this.#channel = `${connection.settings.prefix}bus`;
    this.#subscription = new RedisSubscription(connection, this.#channel, (text) => this.#heard(text));
  }

  async publish(topic: string, message: string): Promise<void> {
    const sending: BusMessage = { sender: this.#own, number: ++this.#sent, topic, message };
    const sealed = this.#seal.seal(JSON.stringify(sending), CONTEXT);
    await Promise.all([
      this.#local.publish(topic, message),
      this.#connection.send((client) => client.publish(this.#channel, sealed), sealed.length).catch(() => undefined),
    ]);
  }

  subscribe(topic: string, listener: (message: string) => void): () => void {
    return this.#local.subscribe(topic, listener);
  }

  close(): void {
    this.#subscription.close();
  }

  #heard(sealed: string): void {
    const text = this.#seal.open(sealed, CONTEXT);
    if (text === undefined) return;
    // What opens was written by one of us.
    const { sender, number, topic, message } = JSON.parse(text) as BusMessage;
    if (sender === this.#own || number <= (this.#last.get(sender) ?? 0)) return;
    this.#last.delete(sender);
    this.#last.set(sender, number);
    const [oldest] = this.#last.keys();
    if (oldest !== undefined && this.#last.size > MOST_SENDERS) this.#last.delete(oldest);
    void this.#local.publish(topic, message);
  }
}
