/**
 * The connection for commands. While Redis is away, commands fail at once and by name. Connections are opened again in
 * the background, with growing pauses.
 */
import { createHash } from 'node:crypto';
import { StoreError, type StoreWarn } from '../errors.ts';
import { createClient, type RedisClient } from './redis-client.ts';
import { awayError, namedRefusal } from './refusals.ts';
import { type RedisSettings, shownNodes } from './settings.ts';

export type RedisArgument = string | number | Buffer;

export interface RedisScript {
  readonly lua: string;
  readonly sha: string;
}

/** Redis knows a script by its hash; its text is sent where it does not know it yet. */
export function redisScript(lua: string): RedisScript {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** Commands that wait for a reply. At 10,000 a second this is the time limit of a command. */
const MOST_WAITING = 20_000;
/** Their arguments, which are kept until the reply: events may be large. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;

export class RedisConnection {
  readonly client: RedisClient;
  readonly settings: RedisSettings;
  readonly #warn: StoreWarn;
  readonly #where: string;
  readonly #whenReady = new Set<() => void>();
  #waiting = 0;
  #waitingBytes = 0;
  #whenIdle: (() => void) | undefined;
  #isClosed = false;
  /** Why Redis is away; undefined while it is not. */
  #trouble: StoreError | undefined;
  #isTroubleTold = false;

  constructor(settings: RedisSettings, warn: StoreWarn) {
    this.settings = settings;
    this.#warn = warn;
    this.#where = shownNodes(settings);
    this.client = createClient(settings);
    this.client.on('error', (error: unknown) => this.#failed(namedRefusal(this.#where, error)));
    this.client.on('close', () => this.#failed(awayError(this.#where, 'the connection was closed')));
    this.client.on('ready', () => this.#ready());
  }

  get isReady(): boolean {
    return this.client.status === 'ready' && !this.#isClosed;
  }

  /** Calls the listener whenever a connection was opened. */
  onReady(listener: () => void): void {
    this.#whenReady.add(listener);
    if (this.isReady) listener();
  }

  /** Resolves when Redis is reached, and after the time for that has passed. */
  firstReady(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.settings.connectMs);
      this.onReady(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** All keys are in one slot. Rejects with a StoreError. */
  run({ sha, lua }: RedisScript, keys: readonly string[], args: readonly RedisArgument[], bytes = 0): Promise<unknown> {
    return this.send(async (client) => {
      try {
        return await client.evalsha(sha, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
        return client.eval(lua, keys.length, ...keys, ...args);
      }
    }, bytes);
  }

  /** Rejects with a StoreError. `bytes`: those of large arguments. */
  send<T>(command: (client: RedisClient) => Promise<T>, bytes = 0): Promise<T> {
    const refusal = this.#refusal(bytes);
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#waiting++;
    this.#waitingBytes += bytes;
    const { commandMs } = this.settings;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new StoreError('slow', `Redis at ${this.#where} did not answer within ${commandMs} ms`));
      }, commandMs);
      const settle = () => {
        clearTimeout(timer);
        this.#waitingBytes -= bytes;
        if (--this.#waiting === 0) this.#whenIdle?.();
      };
      command(this.client).then(
        (result) => {
          settle();
          resolve(result);
        },
        (error: unknown) => {
          settle();
          reject(namedRefusal(this.#where, error));
        },
      );
    });
  }

  /** Waits for the replies to commands, which have a time limit. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#waiting > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.settings.commandMs);
        this.#whenIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.client.disconnect();
  }

  #refusal(bytes: number): StoreError | undefined {
    if (this.#isClosed) return new StoreError('closed', 'the store is closed');
    if (!this.isReady) return this.#trouble ?? awayError(this.#where, 'the connection is not open yet');
    // One command is always possible, whatever its size.
    if (this.#waiting > 0 && (this.#waiting >= MOST_WAITING || this.#waitingBytes + bytes > MOST_WAITING_BYTES))
      return awayError(this.#where, 'too many commands are waiting for it');
    return undefined;
  }

  #failed(trouble: StoreError): void {
    // What the server said explains more than that the connection was closed afterwards.
    if (this.#trouble === undefined || trouble.kind !== 'away') this.#trouble = trouble;
    if (this.#isTroubleTold || this.#isClosed || this.isReady) return;
    this.#isTroubleTold = true;
    this.#warn(`the store is away: ${this.#trouble.message}; what needs it fails until it is back`, {});
  }

  #ready(): void {
    this.#trouble = undefined;
    if (this.#isTroubleTold) this.#warn(`the store is back: Redis at ${this.#where}`, {});
    this.#isTroubleTold = false;
    for (const listener of this.#whenReady) listener();
  }
}
