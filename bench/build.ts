/**
 * The bench's own programs are bundled before they run: loaded through a transpiler, they would carry its memory and
 * its start-up time into the figures.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundle } from '../scripts/bundle.js';
import { writeCodeCache } from '../scripts/code-cache.js';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const resultsDirectory = join(root, 'bench/results');
const outdir = join(resultsDirectory, 'programs');

const programs = [
  'backend-http',
  'backend-stdio',
  'pass-through',
  'from-memory',
  'bridge',
  'gc-on-signal',
  'flooding',
  'greedy',
  'slow-list',
  'edges',
] as const;
export type Program = (typeof programs)[number];

export function programPath(name: Program): string {
  return join(outdir, `${name}.js`);
}

/** The gateway is built as well: figures of an older build would be taken for those of the sources. */
export async function buildPrograms(): Promise<void> {
  const dist = join(root, 'dist');
  await bundle(dist);
  await writeCodeCache(dist);
  await build({
    entryPoints: programs.map((name) => join(root, 'bench/programs', `${name}.ts`)),
    outdir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    // undici is CommonJS, and requires node's own modules.
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  });
}
