/** Merges the lists of several backends into the one list that an endpoint's clients see, and resolves its names. */
import { type Edit, splice } from '../wire/compose.ts';
import { withoutExecution } from '../wire/tasks.ts';
import type { Entry } from './entries.ts';
import { distinguishedAt, entryAddress, uriPlacesOf } from './extension-uris.ts';
import type { NamePolicy, Names, Origin } from './names.ts';
import { mayOverlap } from './templates.ts';
import { distinguished, isReserved } from './uris.ts';

export interface BackendList {
  readonly backend: string;
  readonly entries: readonly Entry[];
  /**
   * The backend is down, and these are its last known entries. They are not listed, but keep their names: while one of
   * two backends with the same name is down, the name must not refer to the other one's entry.
   */
  readonly away?: boolean;
  /** Calls of its tools can be made as tasks of 2025-11-25. */
  readonly runsTasks?: boolean | undefined;
}

export interface ListedEntry extends Origin {
  readonly clientName: string;
  /** The name that rules use, under overrides: the listed name without them. Absent: `clientName`. */
  readonly ruleName?: string;
  /** The backend's entry with the client's name. */
  readonly bytes: Uint8Array;
}

/**
 * Entries left out because their names collide. With a single backend: it lists the name more than once, and the first
 * entry is kept.
 */
export interface Collision {
  readonly name: string;
  readonly backends: readonly string[];
}

export interface ListView {
  /** In the order of the lists and their entries. */
  readonly places: readonly ListedEntry[];
  /**
   * The backend and its own name. Encoded forms that are not listed, because they are not needed, are still resolved.
   */
  find(clientName: string): Origin | undefined;
  /** The listed name that rules use; undefined if the origin is in none of the lists. */
  nameOf(origin: Origin): string | undefined;
  readonly collisions: readonly Collision[];
}

/** The list of an endpoint's only backend, in which nothing is renamed. */
export function mergeUnnamed(lists: readonly BackendList[], reserved: string | undefined): ListView {
  return merge(lists, { own: ({ name }) => name !== reserved, other: () => undefined });
}

/** Merges tools or prompts. `reserved`: a name that the gateway uses itself, so no backend's entry can be listed so. */
export function mergeNamed(
  lists: readonly BackendList[],
  naming: NamePolicy,
  names: Names,
  reserved?: string,
): ListView {
  const encoded = (origin: Origin): string => names.encode(origin);
  if (naming === 'always') return merge(lists, { ...ofTools, own: () => false, other: encoded });
  const owners = ownersOf(lists);
  const alone = (name: string): boolean => name !== reserved && owners.get(name)?.length === 1;
  const isOwn = ({ name }: Origin): boolean => alone(name) && (naming === 'never' || !names.isEncoded(name));
  const other = naming === 'never' ? () => undefined : encoded;
  return merge(lists, { ...ofTools, own: isOwn, other });
}

/** Merges skills. All URIs of a skill name their backend. */
export function mergeSkills(lists: readonly BackendList[]): ListView {
  const other = ({ backend, name }: Origin) => entryAddress('skills', backend, name);
  return merge(lists, { own: () => false, other, links: linksIn('skills') });
}

export function mergeResources(lists: readonly BackendList[]): ListView {
  const owners = ownersOf(lists);
  return merge(lists, {
    own: ({ name }) => owners.get(name)?.length === 1 && !isReserved(name),
    other: ({ backend, name }) => distinguished(backend, name),
  });
}

/** Merges templates. They need not be equal to collide: it is enough that one URI may match both. */
export function mergeTemplates(lists: readonly BackendList[]): ListView {
  const shared = mayOverlap(
    lists.flatMap(({ backend, entries }) => entries.map(({ key }) => ({ backend, template: key }))),
  );
  return merge(lists, {
    own: ({ name }) => !shared.has(name) && !isReserved(name),
    other: ({ backend, name }) => distinguished(backend, name),
  });
}

/** How an entry is named. */
interface NameRule {
  /** Whether the entry keeps its backend's own name. */
  own(origin: Origin): boolean;
  /** The name that includes its backend; undefined if there is none. */
  other(origin: Origin): string | undefined;
  /** The URIs of extensions in the entry, with their backend. */
  readonly links?: ((backend: string, bytes: Uint8Array) => readonly Edit[]) | undefined;
  /** The entry, for backends whose calls cannot be made as tasks. */
  readonly withoutTasks?: (bytes: Uint8Array) => Uint8Array;
}

const ofTools = { links: linksIn('tools'), withoutTasks: withoutExecution };

function linksIn(list: 'tools' | 'skills'): NameRule['links'] {
  const places = uriPlacesOf(list);
  return (backend, bytes) => distinguishedAt(bytes, { start: 0, end: bytes.byteLength }, places, backend);
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

  for (const { backend, entries, away, runsTasks } of lists) {
    const seen = names.get(backend) ?? new Map<string, string>();
    names.set(backend, seen);
    for (const { key: name, bytes, span } of entries) {
      const origin = { backend, name };
      const other = rule.other(origin);
      const clientName = rule.own(origin) ? name : other;
      // The client's name is already taken: two origins have the same digest. The first keeps it, and the collision is
      // reported.
      if (seen.has(name) || clientName === undefined || byName.has(clientName)) {
        collide(name, backend);
        continue;
      }
      seen.set(name, clientName);
      byName.set(clientName, origin);
      if (other !== undefined && !byName.has(other)) byName.set(other, origin);
      if (away === true) continue;
      const edits = [...(rule.links?.(backend, bytes) ?? [])];
      if (clientName !== name) edits.push({ span, with: JSON.stringify(clientName) });
      const renamed = edits.length === 0 ? bytes : splice(bytes, edits);
      const bytesShown = runsTasks === true ? renamed : (rule.withoutTasks?.(renamed) ?? renamed);
      places.push({ ...origin, clientName, bytes: bytesShown });
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
