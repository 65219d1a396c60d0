/** Entries that pins hold are not listed. They keep their names, like those of a backend that is away. */
import { type PinGuard, pinnedLists } from '../pins/ports.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { BackendList } from './view.ts';

export function withHeldApart(pins: PinGuard, { list }: MethodRow, part: BackendList): readonly BackendList[] {
  const kind = list === undefined ? undefined : pinnedLists[list];
  if (kind === undefined) return [part];
  const { backend, entries } = part;
  const held = pins.heldIn(backend, kind, entries);
  if (held.size === 0) return [part];
  return [
    { ...part, entries: entries.filter(({ key }) => !held.has(key)) },
    { backend, entries: entries.filter(({ key }) => held.has(key)), away: true },
  ];
}
