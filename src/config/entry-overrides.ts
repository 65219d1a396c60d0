/** What the config changes of backends' tools and prompts: for all endpoints of a backend, and for one endpoint. */
import * as z from 'zod';
import type { ArgumentOverride, BackendOverrides, EntryOverride } from '../catalog/overrides/settings.ts';
import { folded } from '../wire/fold.ts';
import { isObject } from '../wire/values.ts';
import type { ConfigDocument, Path } from './document.ts';
import * as shape from './shapes.ts';

/** A fixed value goes with every call. */
const MOST_BYTES = 16 * 1024;
const DEEPEST = 16;

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names */
const entryName = shape.text('up to 128 letters, digits, dots, dashes and underscores', /^[A-Za-z0-9_.-]{1,128}$/);
const shownText = z.string({ error: 'text' });

/** What JSON spells as it was meant: larger integers would lose digits. */
function isExact(value: unknown, depth = 0): boolean {
  if (depth > DEEPEST) return false;
  if (typeof value === 'number')
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (Array.isArray(value)) return value.every((item) => isExact(item, depth + 1));
  return !isObject(value) || Object.values(value).every((item) => isExact(item, depth + 1));
}

const jsonValue = z.unknown().superRefine((value, context) => {
  const message =
    value === undefined || !isExact(value)
      ? `a value of at most ${DEEPEST} levels, with numbers that JSON readers read alike: write longer ones as text`
      : JSON.stringify(value).length > MOST_BYTES
        ? 'a value of at most 16 KiB'
        : undefined;
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

const argumentShape = shape
  .closed('a map with `fix` or `default`', { fix: jsonValue.exactOptional(), default: jsonValue.exactOptional() })
  .refine((given) => 'fix' in given !== 'default' in given, {
    error: '`fix`, which clients cannot change, or `default`, which they can',
  });

const promptShape = {
  name: entryName.exactOptional(),
  title: shownText.exactOptional(),
  description: shownText.exactOptional(),
  hide: shape.flag.exactOptional(),
};

const toolShape = {
  ...promptShape,
  arguments: z
    .record(z.string(), argumentShape, { error: 'a map of arguments, each with `fix` or `default`' })
    .exactOptional(),
};

export const backendOverridesShape = shape.once(() =>
  shape.closed('a map with `tools` or `prompts`', {
    tools: z
      .record(z.string(), shape.closed('a map with what changes', toolShape), { error: "a map of the backend's tools" })
      .exactOptional(),
    prompts: z
      .record(z.string(), shape.closed('a map with what changes', promptShape), {
        error: "a map of the backend's prompts",
      })
      .exactOptional(),
  }),
);

export const endpointOverridesShape = shape.once(() =>
  z.record(z.string(), backendOverridesShape(), { error: 'a map of backends, each with `tools` or `prompts`' }),
);

type GivenOverrides = z.infer<ReturnType<typeof backendOverridesShape>>;
type GivenEntry = z.infer<z.ZodObject<typeof toolShape>>;

/** Reports what contradicts itself. `path`: where `tools` and `prompts` are. */
export function readOverrides(
  document: ConfigDocument,
  path: Path,
  backend: string,
  { tools = {}, prompts = {} }: GivenOverrides,
): BackendOverrides {
  const read = {
    backend,
    tools: Object.entries(tools).map(([own, given]) => entryOverride(document, [...path, 'tools', own], own, given)),
    prompts: Object.entries(prompts).map(([own, given]) =>
      entryOverride(document, [...path, 'prompts', own], own, given),
    ),
  };
  checkNames(document, path, read);
  return read;
}

function entryOverride(
  document: ConfigDocument,
  path: Path,
  own: string,
  { arguments: given, ...entry }: GivenEntry,
): EntryOverride {
  if (given === undefined) return { own, ...entry };
  const folds = new Set<string>();
  const made = Object.entries(given).map(([argument, one]): ArgumentOverride => {
    if (folds.has(folded(argument)))
      document.reportKey([...path, 'arguments', argument], {
        message: `\`${argument}\` differs from another argument here only in case`,
      });
    folds.add(folded(argument));
    const isFixed = 'fix' in one;
    return { argument, value: isFixed ? one.fix : one.default, isFixed };
  });
  return made.length === 0 ? { own, ...entry } : { own, ...entry, arguments: made };
}

/** Each name means one entry. */
function checkNames(document: ConfigDocument, path: Path, { tools, prompts }: BackendOverrides): void {
  for (const [kind, entries] of Object.entries({ tools, prompts })) {
    for (const { own, name, other } of sharedNames(entries))
      document.report([...path, kind, own, 'name'], {
        message: `\`${name}\` is the name of \`${other}\` already`,
        expected: 'a name that no other override gives or keeps',
      });
  }
}

interface SharedName {
  readonly own: string;
  readonly name: string;
  /** The entry that has this name, too. */
  readonly other: string;
}

function sharedNames(entries: readonly EntryOverride[]): readonly SharedName[] {
  const shown = entries.filter(({ hide }) => hide !== true);
  return shown.flatMap(({ own, name }) => {
    if (name === undefined) return [];
    const other = shown.find((one) => one.own !== own && (one.name ?? one.own) === name);
    return other === undefined ? [] : [{ own, name, other: other.own }];
  });
}

interface Overridable {
  readonly backends: readonly string[];
  readonly overrides?: readonly BackendOverrides[];
}

/** What an endpoint changes comes before what is changed at all endpoints. What is hidden anywhere stays hidden. */
export function withBackendOverrides<E extends Overridable>(
  endpoint: E,
  ofBackends: readonly BackendOverrides[] = [],
  document?: { readonly document: ConfigDocument; readonly path: Path } | undefined,
): E {
  const overrides = endpoint.backends.flatMap((backend): readonly BackendOverrides[] => {
    const general = ofBackends.find((one) => one.backend === backend);
    const own = endpoint.overrides?.find((one) => one.backend === backend);
    if (general === undefined || own === undefined) return [own ?? general ?? []].flat();
    const merged = {
      backend,
      tools: mergedEntries(general.tools, own.tools),
      prompts: mergedEntries(general.prompts, own.prompts),
    };
    if (document !== undefined) checkNames(document.document, [...document.path, 'overrides', backend], merged);
    return [merged];
  });
  return overrides.length === 0 ? endpoint : { ...endpoint, overrides };
}

function mergedEntries(general: readonly EntryOverride[], own: readonly EntryOverride[]): readonly EntryOverride[] {
  const others = own.filter((entry) => !general.some((one) => one.own === entry.own));
  return [
    ...general.map((entry) =>
      mergedEntry(
        entry,
        own.find((one) => one.own === entry.own),
      ),
    ),
    ...others,
  ];
}

function mergedEntry(general: EntryOverride, own: EntryOverride | undefined): EntryOverride {
  if (own === undefined) return general;
  const given = own.arguments ?? [];
  const kept = (general.arguments ?? []).filter(
    ({ argument }) => !given.some((one) => folded(one.argument) === folded(argument)),
  );
  const all = [...kept, ...given];
  const isHidden = general.hide === true || own.hide === true;
  return { ...general, ...own, ...(isHidden && { hide: true }), ...(all.length > 0 && { arguments: all }) };
}
