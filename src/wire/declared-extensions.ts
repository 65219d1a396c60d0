/** The extensions that clients and backends declare, in `capabilities.extensions`. */
import { canonical } from './canonical.ts';
import { type ExtensionChoices, extensionRow, isCarried, isDefined } from './extensions.ts';
import type { Revision } from './revisions.ts';
import { isObject } from './values.ts';

type Capabilities = Readonly<Record<string, unknown>>;
type Extensions = Readonly<Record<string, Capabilities>>;

/** The capabilities of either side, with the extensions that the endpoint carries. */
export function withCarried<C extends Capabilities>(
  capabilities: C,
  revision: Revision,
  choices: ExtensionChoices | undefined,
): C {
  return withExtensions(capabilities, (id) => isCarried(id, revision, choices));
}

/** The same for the hop to a backend, once the endpoint has decided: what this hop cannot carry is left out. */
export function withDefined<C extends Capabilities>(capabilities: C, revision: Revision): C {
  return withExtensions(capabilities, (id) => isDefined(id, revision));
}

function withExtensions<C extends Capabilities>(capabilities: C, isKept: (id: string) => boolean): C {
  if (!Object.hasOwn(capabilities, 'extensions')) return capabilities;
  const { extensions, ...others } = capabilities;
  const kept = Object.entries(extensionsIn(capabilities)).filter(([id]) => isKept(id));
  return (kept.length === 0 ? others : { ...others, extensions: Object.fromEntries(kept) }) as C;
}

/** An extension is declared by an object. Any other value declares nothing. */
export function extensionsIn(capabilities: Capabilities): Extensions {
  const declared = Object.hasOwn(capabilities, 'extensions') ? capabilities.extensions : undefined;
  if (!isObject(declared)) return {};
  return Object.fromEntries(
    Object.entries(declared).filter((entry): entry is [string, Record<string, unknown>] => isObject(entry[1])),
  );
}

export function declaresExtension(capabilities: Capabilities, id: string): boolean {
  return Object.hasOwn(extensionsIn(capabilities), id);
}

/** The extensions of a client that are declared when lists are read for it. */
export function listExtensions(capabilities: Capabilities): Extensions {
  return Object.fromEntries(
    Object.entries(extensionsIn(capabilities)).map(([id, settings]) => {
      const known = Object.entries(extensionRow(id)?.listSettings ?? {}).flatMap(
        ([key, values]): [string, unknown][] => {
          const declared = Object.hasOwn(settings, key) ? settings[key] : undefined;
          return Array.isArray(declared) ? [[key, values.filter((value) => declared.includes(value))]] : [];
        },
      );
      return [id, Object.fromEntries(known)];
    }),
  );
}

/** What backends declare together. */
export function mergeExtensions(parts: readonly Extensions[]): Extensions {
  const declared = new Map<string, Capabilities[]>();
  for (const part of parts) {
    for (const [id, settings] of Object.entries(part)) {
      const known = declared.get(id);
      if (known === undefined) declared.set(id, [settings]);
      else known.push(settings);
    }
  }
  return Object.fromEntries([...declared].map(([id, settings]) => [id, mergeSettings(settings)]));
}

/** The settings must not promise more than each backend holds: a member in which they differ is left out. */
function mergeSettings(all: readonly Capabilities[]): Capabilities {
  const [first = {}, ...others] = all;
  const kept = Object.entries(first).flatMap(([key, value]): [string, unknown][] => {
    const values = others.map((settings) => (Object.hasOwn(settings, key) ? settings[key] : undefined));
    if (values.every((other) => other !== undefined && canonical(other) === canonical(value))) return [[key, value]];
    if (!Array.isArray(value) || !values.every((other) => Array.isArray(other))) return [];
    // A list of what is understood, such as `mimeTypes`.
    const understood = values.map((other) => new Set(other as unknown[]));
    return [[key, value.filter((item) => understood.every((other) => other.has(item)))]];
  });
  return Object.fromEntries(kept);
}
