// Bundles the command line and the demo server: one file each loads in half the time of the module tree
// (docs/decisions).
import { readFileSync, rmSync } from 'node:fs';
import { build, context } from 'esbuild';

const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export async function bundle(outdir, plugins = []) {
  rmSync(outdir, { recursive: true, force: true });
  await build(optionsFor(outdir, plugins));
}

/** Builds now and after every change of a source file; tells each time how many errors there were. */
export async function watchBundle(outdir, built) {
  const telling = { name: 'built', setup: ({ onEnd }) => onEnd(({ errors }) => built(errors.length)) };
  const watching = await context(optionsFor(outdir, [telling]));
  await watching.watch();
}

function optionsFor(outdir, plugins) {
  return {
    entryPoints: { main: 'src/cli/main.ts', demo: 'src/demo/main.ts' },
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Less text to read and to keep in memory. Names stay, for stack traces and profiles; so do short lines, of which
    // Node shows one when a program crashes. Not `minifySyntax`: with it, sign-in at the bundled authorization server
    // fails (session_not_found).
    minifyWhitespace: true,
    lineLimit: 160,
    sourcemap: true,
    // Stack traces need places alone; the sources would be kept in memory.
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [...plugins],
    // A package is either bundled or a dependency, never both. Only native code has to be a dependency: `lmdb`, which
    // is loaded when a file store is opened.
    external: Object.keys(dependencies),
    // Some dependencies are CommonJS and call require() for node's own modules.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  };
}
