/** Our own cursors: a position in one version of one list, sealed, so that nobody can make one or move one elsewhere. */
import { Failure } from '../errors/failure.ts';
import { isObject } from '../wire/values.ts';
import { BoundedMap } from './recent.ts';

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
export interface CursorScope {
  readonly endpoint: string;
  readonly method: string;
  /** Whose list it is. Absent for a list that is the same for everybody. */
  readonly principal?: string;
}

export interface Cursors {
  write(position: Position, bound: CursorScope): string;
  /** Throws the Failure `invalid_cursor` where we did not give out this cursor for any of these. */
  read(cursor: string, ...bounds: readonly CursorScope[]): Position;
}

/** Everybody who follows the pages of one list comes with the same cursors: so many were opened once and need not be again. */
const OPENED_KEPT = 256;

export function createCursors(seal: Sealing): Cursors {
  const opened = new BoundedMap<Position>(OPENED_KEPT);
  const open = (cursor: string, context: string): Position | undefined => {
    const key = `${cursor} ${context}`;
    const known = opened.get(key);
    if (known !== undefined) return known;
    const plain = seal.open(cursor, context);
    const position = plain === undefined ? undefined : readPosition(plain);
    if (position !== undefined) opened.set(key, position);
    return position;
  };
  return {
    write: ({ offset, version }, bound) => seal.seal(JSON.stringify({ offset, version }), contextOf(bound)),
    read(cursor, ...bounds) {
      for (const bound of bounds) {
        const position = open(cursor, contextOf(bound));
        if (position !== undefined) return position;
      }
      throw new Failure('invalid_cursor');
    },
  };
}

/** The first word keeps cursors apart from whatever else the same key seals. */
function contextOf({ endpoint, method, principal }: CursorScope): string {
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
