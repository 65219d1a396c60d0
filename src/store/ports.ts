/**
 * State that must outlive a request, or be visible to other replicas. All calls are async, so that a shared store can
 * implement them. Every implementation has to pass tests/store/contract.ts or tests/store/records-contract.ts.
 */

export interface LoggedEvent {
  /** Counts from 1 within its stream, without gaps. */
  readonly sequence: number;
  readonly data: Uint8Array;
}

/** The events of streams that clients may resume. Limited per stream: the oldest are dropped first. */
export interface EventLog {
  /** Never rejects. If an event cannot be stored, a later replay across it is refused. */
  append(stream: string, event: LoggedEvent): Promise<void>;
  /**
   * The events after the given sequence number, in order. Undefined if there would be a gap: the stream is unknown, or
   * events after that number were dropped.
   */
  after(stream: string, sequence: number): Promise<readonly LoggedEvent[] | undefined>;
  drop(stream: string): Promise<void>;
}

/**
 * Publishes to every replica, including the sender. Delivery is at most once and in order per sender; messages are not
 * stored.
 */
export interface Bus {
  /** Never rejects: a message that cannot be sent is lost. Code that must be certain reads the store. */
  publish(topic: string, message: string): Promise<void>;
  /** Returns the function that unsubscribes. */
  subscribe(topic: string, listener: (message: string) => void): () => void;
}

/** Exactly one holder at a time, among all replicas. */
export interface Lease {
  /** Undefined if the lease is held. It expires after `ttlMs`. */
  take(name: string, ttlMs: number): Promise<HeldLease | undefined>;
}

export interface HeldLease {
  /** Has no effect if the lease has expired or was released. */
  release(): Promise<void>;
}

/**
 * Small texts that must outlive the process: registrations, grants, tokens, keys. Identified by collection and key. A
 * record may have an end, in milliseconds since 1970, after which it counts as absent.
 */
export interface Records {
  get(collection: string, key: string): Promise<string | undefined>;
  put(collection: string, key: string, value: string, endsAt?: number): Promise<void>;
  /**
   * Compare and replace: succeeds only if the current value is `seen`. For both, undefined means no record. Returns
   * whether it succeeded.
   */
  replace(
    collection: string,
    key: string,
    seen: string | undefined,
    value: string | undefined,
    endsAt?: number,
  ): Promise<boolean>;
  /** Reads and removes a record in one step: of several concurrent callers, one gets it. */
  take(collection: string, key: string): Promise<string | undefined>;
  delete(collection: string, key: string): Promise<void>;
  /** Up to `most` keys with this prefix, in order. */
  keys(collection: string, prefix: string, most: number): Promise<readonly string[]>;
  /** All writes are durable when this resolves. */
  close(): Promise<void>;
}

/**
 * Seals values that a client holds and must return unchanged: AEAD, with everything that the value is bound to as
 * context.
 */
export interface Seal {
  seal(plain: string, context: string): string;
  /** Undefined if it was changed, or sealed with a different key or context. */
  open(sealed: string, context: string): string | undefined;
}

/** One of several, of which a sealed value names the one that opens it. */
export interface KeyedSeal extends Seal {
  /** Says nothing about the key. In characters of base64url, at least 16 of them. */
  readonly keyId: string;
}
