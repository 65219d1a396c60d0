/**
 * A message is its bytes plus spans. Nothing here is a parsed document: `params`, `result` and `error` are passed on
 * byte for byte, except for members that we must change, so number spelling, key order and unknown members survive. The
 * top level is rebuilt (`compose.ts`).
 */

/** Half-open range of byte offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of an object: `start`/`end` span its value, `keyStart` is the opening quote of its name. */
export interface Member extends Span {
  readonly key: string;
  readonly keyStart: number;
}

/** An object whose members were recorded while it was read. */
export interface ObjectSpan extends Span {
  readonly members: readonly Member[];
}

/**
 * A JSON-RPC id. `raw` is the token as received, to be echoed byte for byte. `key` is equal for equal ids and differs
 * between the number 0 and the string "0".
 */
export interface Id {
  readonly raw: string;
  readonly key: string;
}

interface ReadBytes {
  readonly bytes: Uint8Array;
}

export interface Request extends ReadBytes {
  readonly kind: 'request';
  readonly id: Id;
  readonly method: string;
  /** Undefined if the message has none. Always an object: MCP has no positional parameters. */
  readonly params: ObjectSpan | undefined;
  /** `params._meta`, if it is an object. */
  readonly meta: ObjectSpan | undefined;
}

export interface Notification extends ReadBytes {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: ObjectSpan | undefined;
  readonly meta: ObjectSpan | undefined;
}

export interface ResultResponse extends ReadBytes {
  readonly kind: 'result';
  readonly id: Id;
  /** MCP results are objects. */
  readonly result: ObjectSpan;
  /** `result._meta`, if it is an object. */
  readonly meta: ObjectSpan | undefined;
}

export interface ErrorResponse extends ReadBytes {
  readonly kind: 'error';
  /** Undefined if the peer could not read the id of our request. `null` counts as undefined. */
  readonly id: Id | undefined;
  readonly error: ObjectSpan;
}

export type Response = ResultResponse | ErrorResponse;
export type Message = Request | Notification | Response;

/**
 * A top-level array. It is recognised by its first byte; members are read only when `readBatch` or `skimBatch` is
 * called.
 */
export interface Batch {
  readonly kind: 'batch';
  readonly bytes: Uint8Array;
}
