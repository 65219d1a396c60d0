// Source maps for our sources alone: those of dependencies would be more than half of all maps. A stack trace names the
// place in the bundle for a frame of a dependency.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { decode, encode } from '@jridgewell/sourcemap-codec';

const ours = resolve(import.meta.dirname, '..', 'src');

/** Rewrites every map in the folder, and deletes those without a source of ours. */
export function mapOursAlone(folder) {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.map'))) {
    const file = join(folder, name);
    const map = JSON.parse(readFileSync(file, 'utf8'));
    const kept = map.sources.filter((source) => resolve(folder, source).startsWith(join(ours, '/')));
    if (kept.length === 0) rmSync(file);
    else writeFileSync(file, JSON.stringify({ ...map, sources: kept, names: [], mappings: mappingsOf(map, kept) }));
  }
}

/** A segment of one number says that what follows has no source. The names of the sources stand in the code. */
function mappingsOf({ mappings, sources }, kept) {
  const places = sources.map((source) => kept.indexOf(source));
  const lines = decode(mappings).map((segments) => {
    const rest = segments.map(([column, source = 0, line, at]) =>
      places[source] === -1 || line === undefined ? [column] : [column, places[source], line, at],
    );
    return rest.filter((segment, at) => segment.length > 1 || rest[at - 1]?.length !== 1);
  });
  return encode(lines);
}
