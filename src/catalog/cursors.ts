/** Our own cursors: a position in one version of one list, sealed, so that nobody can make one or move one elsewhere. */
import { Failure } from '../errors.ts';
import { isObject } from '../wire/values.ts';

/** The part of the store's seal that is needed here. */
export interface Sealing {
  seal(plain: string, context: string): string;
  open(sealed: string, context: string): string | undefined;
}

export interface Position {
  readonly offset: number;
  /** Of the merged list: a position in another one would skip entries, or give them twice. */
  readonly version: string;
}

/** Where alone the cursor is good. */
export interface Bound {
  readonly endpoint: string;
  readonly method: string;
  /** Whose list it is. Absent for a list that is the same for everybody. */
  readonly principal?: string;
}

export interface Cursors {
  write(position: Position, bound: Bound): string;
  /** Throws the Failure `invalid_cursor` where we did not give out this cursor for any of these. */
  read(cursor: string, ...bounds: readonly Bound[]): Position;
}

export function createCursors(seal: Sealing): Cursors {
  return {
    write: ({ offset, version }, bound) => seal.seal(JSON.stringify({ offset, version }), contextOf(bound)),
    read(cursor, ...bounds) {
      for (const bound of bounds) {
        const plain = seal.open(cursor, contextOf(bound));
        const position = plain === undefined ? undefined : readPosition(plain);
        if (position !== undefined) return position;
      }
      throw new Failure('invalid_cursor');
    },
  };
}

/** The first word keeps cursors apart from whatever else the same key seals. */
function contextOf({ endpoint, method, principal }: Bound): string {
  return JSON.stringify(['cursor', endpoint, method, principal ?? null]);
}

/** It was sealed by us, but perhaps by another release. */
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
