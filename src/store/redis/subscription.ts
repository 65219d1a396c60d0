/**
 * A connection that hears one channel. A lost one is replaced by a connection to the next node, with growing pauses.
 * What is sent meanwhile is not heard.
 */

import type { RedisConnection } from './connection.ts';
import { createSubscriber, hearingNodes, type RedisNode, retryDelay } from './redis-client.ts';

/** A connection that was cut silently is noticed after this time and the time limit of a command. */
const PING_MS = 5_000;

export class RedisSubscription {
  readonly #connection: RedisConnection;
  readonly #channel: string;
  readonly #heard: (message: string) => void;
  #stop: () => void = () => undefined;
  #isClosed = false;
  #attempts = 0;

  constructor(connection: RedisConnection, channel: string, heard: (message: string) => void) {
    this.#connection = connection;
    this.#channel = channel;
    this.#heard = heard;
    this.#open();
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #open(): void {
    const subscriber = createSubscriber(this.#connection.settings, this.#nextNode());
    const pinging = setInterval(() => void subscriber.ping().catch(() => undefined), PING_MS);
    subscriber.on('ready', () => {
      subscriber.subscribe(this.#channel).then(
        () => {
          this.#attempts = 0;
        },
        () => subscriber.disconnect(),
      );
    });
    subscriber.on('message', (_channel: string, message: string) => this.#heard(message));
    // The connection for commands reports why Redis is away.
    subscriber.on('error', () => undefined);
    subscriber.on('end', () => {
      clearInterval(pinging);
      if (!this.#isClosed) this.#openLater();
    });
    this.#stop = () => subscriber.disconnect();
  }

  #openLater(): void {
    const timer = setTimeout(() => this.#open(), retryDelay(++this.#attempts));
    this.#stop = () => clearTimeout(timer);
  }

  #nextNode(): RedisNode {
    const { client, settings } = this.#connection;
    const nodes = hearingNodes(client, settings);
    return nodes[this.#attempts % nodes.length]!;
  }
}
