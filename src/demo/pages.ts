/** Pages of a list. A cursor names the last item that its holder has seen, so it stays right when items come or go behind it. */
import { BadValue } from './failure.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string;
}

function cursorAfter(key: string): string {
  return Buffer.from(key).toString('base64url');
}

export function pageOf<Item>(
  all: readonly Item[],
  keyOf: (item: Item) => string,
  size: number,
  cursor: unknown,
): Page<Item> {
  const seen = cursor === undefined ? -1 : all.findIndex((item) => cursorAfter(keyOf(item)) === cursor);
  if (cursor !== undefined && seen === -1) throw new BadValue('Invalid cursor');
  const items = all.slice(seen + 1, seen + 1 + size);
  const last = items.at(-1);
  const more = seen + 1 + size < all.length;
  return more && last !== undefined ? { items, nextCursor: cursorAfter(keyOf(last)) } : { items };
}
