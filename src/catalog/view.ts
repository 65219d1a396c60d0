/** The lists of several backends as the one list that the clients of an endpoint see, and the way back from each name. */
import { splice } from '../wire/compose.ts';
import type { Entry } from './entries.ts';
import type { NamePolicy, Names, Origin } from './names.ts';
import { mayOverlap } from './overlap.ts';
import { distinguished, isReserved } from './uris.ts';

export interface BackendList {
  readonly backend: string;
  readonly entries: readonly Entry[];
  /**
   * The backend is down and these are the entries that it had. They are not offered, but they keep their names: a name that
   * two backends share must not mean the other one's thing for as long as one of them is away.
   */
  readonly away?: boolean;
}

export interface ListedEntry extends Origin {
  readonly clientName: string;
  /** The backend's entry, with the client's name in the place of its own. */
  readonly bytes: Uint8Array;
}

/** Entries that are left out because they cannot be told apart. One backend alone: it has the name more than once, and the first is kept. */
export interface Collision {
  readonly name: string;
  readonly backends: readonly string[];
}

export interface ListView {
  /** In the order of the lists, and of the entries in each. */
  readonly places: readonly ListedEntry[];
  /** Whose it is, and what it is called there. Forms that are no longer listed, because they are no longer needed, are still understood. */
  find(clientName: string): Origin | undefined;
  /** Under which name it is listed; undefined where it is not in any of the lists. */
  nameOf(origin: Origin): string | undefined;
  readonly collisions: readonly Collision[];
}

/** Tools and prompts. */
export function mergeNamed(lists: readonly BackendList[], naming: NamePolicy, names: Names): ListView {
  const encoded = (origin: Origin): string => names.encode(origin);
  if (naming === 'always') return merge(lists, { own: () => false, other: encoded });
  const owners = ownersOf(lists);
  const alone = (name: string): boolean => owners.get(name)?.length === 1;
  if (naming === 'never') return merge(lists, { own: ({ name }) => alone(name), other: () => undefined });
  return merge(lists, { own: ({ name }) => alone(name) && !names.isEncoded(name), other: encoded });
}

export function mergeResources(lists: readonly BackendList[]): ListView {
  const owners = ownersOf(lists);
  return merge(lists, {
    own: ({ name }) => owners.get(name)?.length === 1 && !isReserved(name),
    other: ({ backend, name }) => distinguished(backend, name),
  });
}

/** Here two entries need not be equal to be confused: it is enough that one URI may fit both. */
export function mergeTemplates(lists: readonly BackendList[]): ListView {
  const shared = mayOverlap(
    lists.flatMap(({ backend, entries }) => entries.map(({ key }) => ({ backend, template: key }))),
  );
  return merge(lists, {
    own: ({ name }) => !shared.has(name) && !isReserved(name),
    other: ({ backend, name }) => distinguished(backend, name),
  });
}

/** How an entry is called. */
interface NameRule {
  /** Whether it keeps the name that its backend gave it. */
  own(origin: Origin): boolean;
  /** The name that tells its backend; undefined where there is no such thing. */
  other(origin: Origin): string | undefined;
}

function merge(lists: readonly BackendList[], rule: NameRule): ListView {
  const places: ListedEntry[] = [];
  const byName = new Map<string, Origin>();
  const names = new Map<string, Map<string, string>>();
  const collisions = new Map<string, Set<string>>();
  const collide = (name: string, backend: string): void => {
    const backends = collisions.get(name);
    if (backends === undefined) collisions.set(name, new Set([backend]));
    else backends.add(backend);
  };

  for (const { backend, entries, away } of lists) {
    const seen = names.get(backend) ?? new Map<string, string>();
    names.set(backend, seen);
    for (const { key: name, bytes, span } of entries) {
      const origin = { backend, name };
      const other = rule.other(origin);
      const clientName = rule.own(origin) ? name : other;
      // A client's name that is taken already: two origins with one digest. The first keeps it, and nothing is hidden.
      if (seen.has(name) || clientName === undefined || byName.has(clientName)) {
        collide(name, backend);
        continue;
      }
      seen.set(name, clientName);
      byName.set(clientName, origin);
      if (other !== undefined && !byName.has(other)) byName.set(other, origin);
      if (away === true) continue;
      const renamed = clientName === name ? bytes : splice(bytes, [{ span, with: JSON.stringify(clientName) }]);
      places.push({ ...origin, clientName, bytes: renamed });
    }
  }
  return {
    places,
    find: (clientName) => byName.get(clientName),
    nameOf: ({ backend, name }) => names.get(backend)?.get(name),
    collisions: [...collisions].map(([name, backends]) => ({ name, backends: [...backends] })),
  };
}

function ownersOf(lists: readonly BackendList[]): ReadonlyMap<string, readonly string[]> {
  const owners = new Map<string, string[]>();
  for (const { backend, entries } of lists) {
    for (const { key } of entries) {
      const known = owners.get(key);
      if (known === undefined) owners.set(key, [backend]);
      else if (!known.includes(backend)) known.push(backend);
    }
  }
  return owners;
}
