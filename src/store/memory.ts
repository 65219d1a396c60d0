/** Event log, bus and lease for a single process. */
import type { Bus, EventLog, HeldLease, Lease, LoggedEvent } from './ports.ts';

export interface EventLogLimits {
  /** Events kept per stream, for a client that reconnects. */
  readonly eventsPerStream: number;
  /** Bytes kept per stream, whatever the number of events. */
  readonly eventBytesPerStream: number;
  /** Bytes kept for all streams together. */
  readonly eventBytesTotal: number;
}

/** The cost of an event besides its data. */
const EVENT_BYTES = 128;

interface KeptStream {
  events: LoggedEvent[];
  bytes: number;
  /** Events up to this sequence number were dropped. */
  dropped: number;
}

export class MemoryEventLog implements EventLog {
  readonly #limits: EventLogLimits;
  /** The least recently written stream first. */
  readonly #streams = new Map<string, KeptStream>();
  #bytes = 0;

  constructor(limits: EventLogLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#streams.size;
  }

  async append(stream: string, event: LoggedEvent): Promise<void> {
    const { eventsPerStream, eventBytesPerStream, eventBytesTotal } = this.#limits;
    const kept = this.#keep(stream, event);
    kept.bytes += event.data.byteLength;
    this.#bytes += costOf(event);
    while (kept.events.length > eventsPerStream || kept.bytes > eventBytesPerStream) this.#forgetOldest(kept);
    if (this.#bytes <= eventBytesTotal) return;
    for (const quiet of this.#streams.values()) {
      while (quiet.events.length > 0 && this.#bytes > eventBytesTotal) this.#forgetOldest(quiet);
    }
  }

  /** The stream becomes the last of all. */
  #keep(stream: string, event: LoggedEvent): KeptStream {
    const known = this.#streams.get(stream);
    // Most streams have one event, the one that they begin with: a literal has room for no more than that.
    const kept = known ?? { events: [event], bytes: 0, dropped: 0 };
    known?.events.push(event);
    this.#streams.delete(stream);
    this.#streams.set(stream, kept);
    return kept;
  }

  async after(stream: string, sequence: number): Promise<readonly LoggedEvent[] | undefined> {
    const kept = this.#streams.get(stream);
    if (kept === undefined || sequence < kept.dropped) return undefined;
    return kept.events.filter((event) => event.sequence > sequence);
  }

  async drop(stream: string): Promise<void> {
    for (const event of this.#streams.get(stream)?.events ?? []) this.#bytes -= costOf(event);
    this.#streams.delete(stream);
  }

  #forgetOldest(kept: KeptStream): void {
    const oldest = kept.events.shift();
    if (oldest === undefined) return;
    kept.bytes -= oldest.data.byteLength;
    kept.dropped = oldest.sequence;
    this.#bytes -= costOf(oldest);
  }
}

function costOf(event: LoggedEvent): number {
  return event.data.byteLength + EVENT_BYTES;
}

export class MemoryBus implements Bus {
  readonly #topics = new Map<string, Set<(message: string) => void>>();

  async publish(topic: string, message: string): Promise<void> {
    for (const listener of [...(this.#topics.get(topic) ?? [])]) listener(message);
  }

  subscribe(topic: string, listener: (message: string) => void): () => void {
    const listeners = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#topics.get(topic) === listeners) this.#topics.delete(topic);
    };
  }
}

export class MemoryLease implements Lease {
  readonly #now: () => number;
  readonly #held = new Map<string, { until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async take(name: string, ttlMs: number): Promise<HeldLease | undefined> {
    this.#dropExpired();
    if (this.#held.has(name)) return undefined;
    const mine = { until: this.#now() + ttlMs };
    this.#held.set(name, mine);
    return {
      release: async () => {
        if (this.#held.get(name) === mine) this.#held.delete(name);
      },
    };
  }

  get size(): number {
    return this.#held.size;
  }

  /**
   * Many leases are never released, because their work is done. Leases are taken seldom, so checking all of them is
   * cheap.
   */
  #dropExpired(): void {
    const now = this.#now();
    for (const [name, { until }] of this.#held) if (until <= now) this.#held.delete(name);
  }
}
