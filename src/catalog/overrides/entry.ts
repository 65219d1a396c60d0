/** One entry of a backend's list as clients see it under its overrides. Everything else of it stays byte for byte. */
import { type Raw, rewrite } from '../../wire/compose.ts';
import { folded } from '../../wire/fold.ts';
import { membersAt } from '../../wire/skim.ts';
import { member } from '../../wire/values.ts';
import { type Misfit, overriddenSchema } from './schema.ts';
import type { EntryOverride } from './settings.ts';

/** A larger entry is not read: a backend must not make the gateway parse megabytes for each list. */
const MOST_BYTES = 256 * 1024;

export type OverriddenEntry = { readonly bytes: Uint8Array } | Misfit;

/** By entry, and by override: a cached entry is looked at once. */
const known = new WeakMap<Uint8Array, WeakMap<EntryOverride, OverriddenEntry>>();

/** The entry, under its own name still. */
export function overriddenEntry(bytes: Uint8Array, override: EntryOverride): OverriddenEntry {
  const overrides = known.get(bytes) ?? new WeakMap<EntryOverride, OverriddenEntry>();
  known.set(bytes, overrides);
  const before = overrides.get(override);
  if (before !== undefined) return before;
  const made = overridden(bytes, override);
  overrides.set(override, made);
  return made;
}

function overridden(bytes: Uint8Array, { title, description, arguments: given }: EntryOverride): OverriddenEntry {
  if (title === undefined && description === undefined && given === undefined) return { bytes };
  if (bytes.byteLength > MOST_BYTES) return { misfit: `it is larger than ${MOST_BYTES / 1024} KiB` };
  const entry = membersAt(bytes, { start: 0, end: bytes.byteLength });
  if (entry === undefined) return { misfit: 'it is no object' };
  const set: Record<string, Raw> = {};
  if (description !== undefined) set.description = JSON.stringify(description);
  if (title !== undefined) {
    set.title = JSON.stringify(title);
    // Revisions before 2025-06-18 have the title here alone.
    const annotations = member(entry, 'annotations');
    const hints = annotations && membersAt(bytes, annotations);
    if (hints !== undefined && member(hints, 'title') !== undefined)
      set.annotations = rewrite(bytes, hints, { set: { title: set.title } });
  }
  if (given !== undefined) {
    const at = member(entry, 'inputSchema');
    if (at === undefined) return { misfit: 'it has no input schema' };
    const schema = overriddenSchema(bytes, at, given);
    if ('misfit' in schema) return schema;
    set.inputSchema = schema;
  }
  // A client that ignores case would read the backend's text instead.
  const folds = new Set(Object.keys(set).map(folded));
  return { bytes: rewrite(bytes, entry, { drop: (key) => folds.has(folded(key)), set }) };
}
