/**
 * Our own cursors: a position in one version of one list, sealed, so that no client can forge one or use it elsewhere.
 */
import { Failure } from '../errors/failure.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Seal } from '../store/ports.ts';
import { isObject } from '../wire/values.ts';

export interface Position {
  readonly offset: number;
  /** Version of the merged list: with a different version a position could skip entries or repeat them. */
  readonly version: string;
}

/** The only place where the cursor is valid. */
export interface CursorScope {
  readonly endpoint: string;
  readonly method: string;
  /** The owner of the list. Undefined for a list that is the same for all principals. */
  readonly principal?: string;
}

/** All clients that page through one list send the same cursors, so this many opened ones are cached. */
const OPENED_KEPT = 256;

export class Cursors {
  readonly #seal: Seal;
  readonly #opened = new BoundedMap<Position>(OPENED_KEPT);

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  write({ offset, version }: Position, bound: CursorScope): string {
    return this.#seal.seal(JSON.stringify({ offset, version }), contextOf(bound));
  }

  /** Throws the Failure `invalid_cursor` if we did not issue this cursor for any of these. */
  read(cursor: string, ...bounds: readonly CursorScope[]): Position {
    for (const bound of bounds) {
      const position = this.#open(cursor, contextOf(bound));
      if (position !== undefined) return position;
    }
    throw new Failure('invalid_cursor');
  }

  #open(cursor: string, context: string): Position | undefined {
    const key = `${cursor} ${context}`;
    const known = this.#opened.get(key);
    if (known !== undefined) return known;
    const plain = this.#seal.open(cursor, context);
    const position = plain === undefined ? undefined : readPosition(plain);
    if (position !== undefined) this.#opened.set(key, position);
    return position;
  }
}

/** The first word separates cursors from other values sealed with the same key. */
function contextOf({ endpoint, method, principal }: CursorScope): string {
  return JSON.stringify(['cursor', endpoint, method, principal ?? null]);
}

/** Sealed by us, but perhaps by a different release. */
function readPosition(plain: string): Position | undefined {
  try {
    const value: unknown = JSON.parse(plain);
    if (!isObject(value)) return undefined;
    const { offset, version } = value;
    if (typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0) return undefined;
    return typeof version === 'string' ? { offset, version } : undefined;
  } catch {
    return undefined;
  }
}
