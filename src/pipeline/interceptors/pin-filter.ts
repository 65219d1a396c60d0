/** Keeps back what pins hold of a backend's list, and of its instructions, before a client sees it. */
import type { Discovery } from '../../exchange/upstream-session.ts';
import { type PinGuard, pinnedLists } from '../../pins/ports.ts';
import { keptElements, nameIn } from '../../policy/filtered-list.ts';
import { spliceMessage } from '../../wire/compose.ts';
import type { ResultResponse } from '../../wire/message.ts';
import type { ListName, MethodRow } from '../../wire/methods.ts';
import { elementsAt, skimMessage } from '../../wire/skim.ts';
import { member, slice } from '../../wire/values.ts';

/** The list of an endpoint's only backend, as it passes. What remains stays byte for byte. */
export function withoutHeld(
  pins: PinGuard,
  backend: string,
  { list }: MethodRow,
  message: ResultResponse,
): ResultResponse {
  const { bytes, result } = message;
  const kind = list === undefined ? undefined : pinnedLists[list];
  const span = list === undefined ? undefined : member(result, list);
  const elements = span && elementsAt(bytes, span);
  if (list === undefined || kind === undefined || span === undefined || elements === undefined) return message;
  const entries = elements.map((element) => ({ element, key: nameIn(bytes, element, list as ListName) }));
  const named = entries.flatMap(({ element, key: name }) =>
    name === undefined ? [] : [{ key: name, bytes: slice(bytes, element) }],
  );
  const held = pins.heldIn(backend, kind, named);
  // What has no name cannot be pinned.
  const isKept = (name: string | undefined) => (name === undefined ? pins.mode === 'warn' : !held.has(name));
  const kept = entries.filter((entry) => isKept(entry.key)).map(({ element }) => element);
  if (kept.length === elements.length) return message;
  return skimMessage(spliceMessage(message, [keptElements(bytes, span, kept)])) as ResultResponse;
}

/** What a backend says of itself, without instructions that are held. */
export function withoutHeldInstructions(pins: PinGuard | undefined, backend: string, discovery: Discovery): Discovery {
  const { instructions } = discovery;
  if (pins === undefined || instructions === undefined) return discovery;
  return pins.holdsInstructions(backend, instructions) ? { ...discovery, instructions: undefined } : discovery;
}
