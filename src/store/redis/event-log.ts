/**
 * The events of streams, sealed for their stream and their place in it: an event that was written by others, moved or
 * changed is not replayed.
 */
import { createHash } from 'node:crypto';
import type { StoreWarn } from '../errors.ts';
import type { EventLogLimits } from '../memory.ts';
import type { EventLog, LoggedEvent, Seal } from '../ports.ts';
import type { RedisConnection } from './connection.ts';
import { appendEvent, eventsAfter } from './event-scripts.ts';

export interface RedisEventLogLimits extends Pick<EventLogLimits, 'eventsPerStream' | 'eventBytesPerStream'> {
  /** No session lives longer, so no client resumes a stream that was quiet for so long. */
  readonly sessionMaxMs: number;
}

export interface RedisEventLogPorts {
  readonly seal: Seal;
  readonly warn: StoreWarn;
}

/** Streams that lack an event in Redis. Each is remembered until Redis has dropped it. */
const MOST_INCOMPLETE = 10_000;

/** One character for each byte. */
const BYTES = 'latin1';

export class RedisEventLog implements EventLog {
  readonly #connection: RedisConnection;
  readonly #limits: RedisEventLogLimits;
  readonly #ports: RedisEventLogPorts;
  /** Streams with an event that could not be stored: Redis does not know that there is a gap. */
  readonly #incomplete = new Set<string>();
  #isLossTold = false;

  constructor(connection: RedisConnection, limits: RedisEventLogLimits, ports: RedisEventLogPorts) {
    this.#connection = connection;
    this.#limits = limits;
    this.#ports = ports;
    connection.onReady(() => this.#dropIncomplete());
  }

  async append(stream: string, { sequence, data }: LoggedEvent): Promise<void> {
    const { eventsPerStream, eventBytesPerStream, sessionMaxMs } = this.#limits;
    const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString(BYTES);
    const sealed = this.#ports.seal.seal(text, contextOf(stream, sequence));
    const args = [sequence, sealed, data.byteLength, eventsPerStream, eventBytesPerStream, sessionMaxMs];
    try {
      await this.#connection.run(appendEvent, [this.#keyOf(stream)], args, sealed.length);
      // Redis has seen the gap, if there was one.
      this.#incomplete.delete(stream);
    } catch (error) {
      this.#lost(stream, error);
    }
  }

  /** Rejects with a StoreError where Redis cannot be asked. */
  async after(stream: string, sequence: number): Promise<readonly LoggedEvent[] | undefined> {
    if (this.#incomplete.has(stream)) return undefined;
    const found = await this.#connection.run(eventsAfter, [this.#keyOf(stream)], [sequence]);
    // An append that was sent before may have failed meanwhile.
    if (!Array.isArray(found) || this.#incomplete.has(stream)) return undefined;
    const events: LoggedEvent[] = [];
    for (const [index, sealed] of found.entries()) {
      const at = sequence + 1 + index;
      const text = this.#ports.seal.open(String(sealed), contextOf(stream, at));
      if (text === undefined) return undefined;
      events.push({ sequence: at, data: Buffer.from(text, BYTES) });
    }
    return events;
  }

  /** Never rejects: what stays expires. */
  async drop(stream: string): Promise<void> {
    try {
      await this.#connection.send((client) => client.del(this.#keyOf(stream)));
      this.#incomplete.delete(stream);
    } catch {
      this.#remember(stream);
    }
  }

  #lost(stream: string, error: unknown): void {
    this.#remember(stream);
    if (this.#isLossTold) return;
    this.#isLossTold = true;
    const why = error instanceof Error ? error.message : 'unknown';
    this.#ports.warn(`events could not be stored, so that their streams cannot be resumed: ${why}`, {});
  }

  #remember(stream: string): void {
    const [oldest] = this.#incomplete;
    if (oldest !== undefined && this.#incomplete.size >= MOST_INCOMPLETE) this.#incomplete.delete(oldest);
    this.#incomplete.add(stream);
  }

  /** So that no other process replays them over the gap. */
  #dropIncomplete(): void {
    this.#isLossTold = false;
    for (const stream of this.#incomplete) void this.drop(stream);
  }

  /** A digest, because the name of a stream contains the id of its session. */
  #keyOf(stream: string): string {
    return `${this.#connection.settings.prefix}event:${createHash('sha256').update(stream).digest('base64url')}`;
  }
}

function contextOf(stream: string, sequence: number): string {
  return `event\0${sequence}\0${stream}`;
}
