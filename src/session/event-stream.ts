/**
 * A stream of a legacy session. It outlives its connections: event ids name the stream, events are logged, and a client
 * that reconnects with `Last-Event-ID` gets them replayed.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */

import type { LinkedList, ListMember } from '../exchange/linked-list.ts';
import type { Connection, ResumableStream, Urgency } from '../exchange/outlet.ts';
import type { EventLog, LoggedEvent } from '../store/ports.ts';
import type { StreamsFacts } from './downstream.ts';

const separator = '-';
const nothing = new Uint8Array(0);

export interface StreamOwner {
  /** The stream has ended. */
  ended(stream: Stream): void;
}

export class Stream implements ResumableStream, ListMember<Stream> {
  previous: Stream | undefined = undefined;
  next: Stream | undefined = undefined;
  list: LinkedList<ListMember> | undefined = undefined;
  /** Unique within its session. */
  readonly id: string;
  readonly #log: EventLog;
  readonly #logKey: string;
  #sequence = 0;
  #connection: Connection | undefined;
  #ended = false;
  readonly #polls: boolean;
  readonly #owner: StreamOwner;

  constructor(id: string, { sessionId, polls }: StreamsFacts, log: EventLog, owner: StreamOwner) {
    this.id = id;
    this.#polls = polls;
    this.#logKey = logKey(sessionId, id);
    this.#log = log;
    this.#owner = owner;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  emit(message: Uint8Array, urgency: Urgency, key?: string): void {
    if (!this.#ended) this.#append(message, urgency, key);
  }

  attach(connection: Connection): void {
    // A client that reconnects while its old connection still looks alive wants the new one.
    const previous = this.#connection;
    this.#connection = connection;
    previous?.end();
    connection.onClose(() => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    // A priming event: the client can resume before anything was sent.
    if (this.#polls && this.#sequence === 0) this.#append(nothing, 'keep', undefined);
  }

  /** False where the log has a gap after `sequence`; nothing is opened then. */
  async resume(sequence: number, open: () => Connection): Promise<boolean> {
    let events = await this.#after(sequence);
    if (events === undefined || sequence > this.#sequence) return false;
    const connection = open();
    let last = sequence;
    for (;;) {
      for (const event of events) {
        connection.send({ id: this.#eventId(event.sequence), data: event.data, urgency: 'keep', replayed: true });
        last = event.sequence;
      }
      // Events emitted while the log was being read must come before later ones.
      if (last >= this.#sequence) break;
      events = await this.#after(last);
      if (events === undefined) {
        connection.end();
        return true;
      }
    }
    if (this.#ended) connection.end();
    else this.attach(connection);
    return true;
  }

  /** Clients of older revisions do not know that they should reconnect, and may have no event id to do so. */
  pause(retryMs: number | undefined): void {
    if (!this.#polls) return;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.pause(retryMs);
  }

  /** Ends the stream. A client that resumes gets the remaining events, and then the end. */
  terminate(): void {
    if (this.#ended) return;
    this.#ended = true;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.end();
    this.#owner.ended(this);
  }

  /** Deletes the events: the stream can no longer be resumed. */
  forget(): void {
    void this.#log.drop(this.#logKey);
  }

  /** Undefined also where the newest events are missing: a shared log may have lost them. */
  async #after(sequence: number): Promise<readonly LoggedEvent[] | undefined> {
    const newest = this.#sequence;
    const events = await this.#log.after(this.#logKey, sequence);
    return (events?.at(-1)?.sequence ?? sequence) < newest ? undefined : events;
  }

  #append(data: Uint8Array, urgency: Urgency, key: string | undefined): void {
    const sequence = ++this.#sequence;
    void this.#log.append(this.#logKey, { sequence, data });
    this.#connection?.send({ id: this.#eventId(sequence), data, urgency, key });
  }

  #eventId(sequence: number): string {
    return eventId(this.id, sequence);
  }
}

/** What an event id names. */
export interface EventPlace {
  readonly stream: string;
  readonly sequence: number;
}

export function eventId(stream: string, sequence: number): string {
  return `${stream}${separator}${sequence}`;
}

/** Stream ids are unique within their session only. */
export function logKey(sessionId: string, stream: string): string {
  return `${sessionId}/${stream}`;
}

/** Undefined for anything that is not one of our event ids. */
export function parseEventId(id: string): EventPlace | undefined {
  const at = id.lastIndexOf(separator);
  const digits = id.slice(at + 1);
  if (at <= 0 || !/^\d{1,15}$/.test(digits)) return undefined;
  return { stream: id.slice(0, at), sequence: Number(digits) };
}
