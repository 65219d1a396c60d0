/**
 * The last step of every list: what clients are shown of backends' entries. Pins, rules and naming have judged the
 * entries before, as if there were no overrides.
 */
import { ambiguousMember } from '../../wire/ambiguity.ts';
import { splice } from '../../wire/compose.ts';
import { membersAt } from '../../wire/skim.ts';
import { member, stringAt } from '../../wire/values.ts';
import type { Entry } from '../entries.ts';
import type { BackendList, ListView } from '../view.ts';
import { overriddenEntry } from './entry.ts';
import type { EndpointOverrides, OverriddenKind, OverriddenNames, Withholding } from './names.ts';

/** An entry that is not listed because of an override. */
export interface WithheldEntry {
  readonly backend: string;
  readonly own: string;
  readonly why: Exclude<Withholding, 'hidden'> | { readonly misfit: string };
}

/** What became of a backend's entries. */
export interface OverriddenEntries {
  readonly entries: readonly Entry[];
  readonly withheld: readonly WithheldEntry[];
}

export function overriddenEntries(
  backend: string,
  entries: readonly Entry[],
  names: OverriddenNames,
): OverriddenEntries {
  const withheld: WithheldEntry[] = [];
  const shown = entries.flatMap((entry): readonly Entry[] => {
    const own = entry.key;
    const listed = names.listed(own);
    if ('withheld' in listed) {
      if (listed.withheld !== 'hidden') withheld.push({ backend, own, why: listed.withheld });
      return [];
    }
    const override = names.of(own);
    if (override === undefined) return [entry];
    const made = overriddenEntry(entry.bytes, override);
    if (!('misfit' in made)) return [renamedEntry(made.bytes, listed.name)];
    withheld.push({ backend, own, why: made });
    return [];
  });
  return { entries: shown, withheld };
}

/** The entry under the name for clients. */
function renamedEntry(bytes: Uint8Array, name: string): Entry {
  const object = membersAt(bytes, whole(bytes));
  const at = member(object, 'name');
  if (at === undefined || ambiguousMember(object, 'name') !== undefined || stringAt(bytes, at) === name)
    return { bytes, key: name, span: at ?? whole(bytes) };
  const text = JSON.stringify(name);
  const span = { start: at.start, end: at.start + Buffer.byteLength(text) };
  return { bytes: splice(bytes, [{ span: at, with: text }]), key: name, span };
}

function whole({ byteLength }: Uint8Array) {
  return { start: 0, end: byteLength };
}

/** A view under overrides. */
export interface OverlaidView extends ListView {
  readonly kind: OverriddenKind;
  /** The view without overrides: rules, rates and the audit trail use its names. */
  readonly plain: ListView;
  readonly withheld: readonly WithheldEntry[];
}

/**
 * The merged list under overrides. `merge` names entries as it does without overrides, but by the names that the config
 * gives: so these get the prefix of their backend like any other.
 */
export function overlaid(
  overrides: EndpointOverrides,
  kind: OverriddenKind,
  lists: readonly BackendList[],
  merge: (lists: readonly BackendList[]) => ListView,
): OverlaidView {
  const plain = merge(lists);
  const withheld: WithheldEntry[] = [];
  const view = merge(
    lists.map((list) => {
      const names = overrides.of(list.backend, kind);
      if (names === undefined) return list;
      const made = overriddenEntries(list.backend, list.entries, names);
      withheld.push(...made.withheld);
      return { ...list, entries: made.entries };
    }),
  );
  const ownOf = (backend: string, name: string) => {
    const names = overrides.of(backend, kind);
    return names === undefined ? name : names.ownOf(name);
  };
  return {
    places: view.places.flatMap((place) => {
      const name = ownOf(place.backend, place.name);
      return name === undefined
        ? []
        : [{ ...place, name, ruleName: plain.nameOf({ backend: place.backend, name }) ?? place.clientName }];
    }),
    find: (clientName) => {
      const found = view.find(clientName);
      const name = found && ownOf(found.backend, found.name);
      return found === undefined || name === undefined ? undefined : { backend: found.backend, name };
    },
    nameOf: (origin) => plain.nameOf(origin),
    collisions: view.collisions,
    kind,
    plain,
    withheld,
  };
}
