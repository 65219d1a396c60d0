/**
 * What must outlive a request, or be seen by another replica. Async from the first day, so that a shared store can stand
 * behind the same calls; tests/store/contract.ts is what every implementation has to pass.
 */

export interface LoggedEvent {
  /** Counts from 1 within its stream, without gaps. */
  readonly sequence: number;
  readonly data: Uint8Array;
}

/** The events of streams that clients may come back to. Bounded per stream: the oldest go first. */
export interface EventLog {
  /** Never rejects: an event that could not be kept is missing from a later replay, which then refuses to begin. */
  append(stream: string, event: LoggedEvent): Promise<void>;
  /**
   * What came after the given sequence number, in order. Undefined where that cannot be told without a gap: the stream is
   * unknown, or events after that number are no longer kept.
   */
  after(stream: string, sequence: number): Promise<readonly LoggedEvent[] | undefined>;
  drop(stream: string): Promise<void>;
}

/** Tells every replica, the sender included. Delivery is at most once and in order per sender; no topic remembers. */
export interface Bus {
  /** Never rejects: a message that could not be sent is lost, and whoever must know for certain asks the store. */
  publish(topic: string, message: string): Promise<void>;
  /** Returns how to stop listening. */
  subscribe(topic: string, listener: (message: string) => void): () => void;
}

/** Exactly one holder at a time, among all replicas. */
export interface Lease {
  /** Undefined where somebody else holds it. Lost by itself after `ttlMs`. */
  take(name: string, ttlMs: number): Promise<HeldLease | undefined>;
}

export interface HeldLease {
  /** Harmless when it was lost or released before. */
  release(): Promise<void>;
}

/**
 * Small texts that must outlive the process: registrations, grants, tokens, keys. By collection and key; each may have an end,
 * in milliseconds since 1970, after which it is as if it had never been.
 */
export interface Records {
  get(collection: string, key: string): Promise<string | undefined>;
  put(collection: string, key: string, value: string, endsAt?: number): Promise<void>;
  /** Only where it still has the value that the caller saw; undefined stands for none, on both sides. Tells whether it did. */
  replace(
    collection: string,
    key: string,
    seen: string | undefined,
    value: string | undefined,
    endsAt?: number,
  ): Promise<boolean>;
  /** Gets it and removes it, in one step: of several that try, one gets it. */
  take(collection: string, key: string): Promise<string | undefined>;
  delete(collection: string, key: string): Promise<void>;
  /** The keys that begin so, in order, at most so many. */
  keys(collection: string, prefix: string, most: number): Promise<readonly string[]>;
  /** Nothing that was put is lost afterwards. */
  close(): Promise<void>;
}

/** Seals what travels through a client and must come back unchanged: AEAD, with everything that it is bound to as context. */
export interface Seal {
  seal(plain: string, context: string): string;
  /** Undefined where it was changed, sealed with another key, or for another context. */
  open(sealed: string, context: string): string | undefined;
}
