// Bundles the command line and the demo server, as CommonJS: one file each loads in half the time of the module tree,
// and V8 keeps no code of ES modules (docs/decisions/0017-start-up.md).
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { build, context } from 'esbuild';
import { mapOursAlone } from './source-maps.js';

const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Packages of which files are in the package as they are, beside those of which esbuild has bundled code. */
export const copiedPackages = ['@cedar-policy/cedar-wasm'];

/** Returns what esbuild says of each build: which files are in it. */
export async function bundle(outdir, plugins = []) {
  prepare(outdir);
  const results = await Promise.all(
    optionsFor(outdir, plugins).map((options) => build({ ...options, metafile: true })),
  );
  mapOursAlone(outdir);
  return results.map(({ metafile }) => metafile);
}

/** Builds now and after every change of a source file; tells each time how many errors there were. */
export async function watchBundle(outdir, built) {
  prepare(outdir);
  const all = optionsFor(outdir, []);
  const begun = new Set();
  await Promise.all(
    all.map(async (options) => {
      const ended = ({ errors }) => {
        begun.add(options);
        if (begun.size === all.length) built(errors.length);
      };
      const telling = { name: 'built', setup: ({ onEnd }) => onEnd(ended) };
      const watching = await context({ ...options, plugins: [...options.plugins, telling] });
      await watching.watch();
    }),
  );
}

/** Deletes what is there: files of an older build, such as the code of its bundle, which is of no use then. */
function prepare(outdir) {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  writeFileSync(join(outdir, 'package.json'), '{ "type": "commonjs" }\n');
  copyCedar(join(outdir, 'cedar'));
}

/**
 * One of the three builds in the package, as it is: its WebAssembly has to stand beside it. Loaded by
 * src/decisions/cedar/module.ts.
 */
function copyCedar(folder) {
  const from = dirname(createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs'));
  mkdirSync(folder);
  for (const name of ['cedar_wasm.js', 'cedar_wasm_bg.wasm']) copyFileSync(join(from, name), join(folder, name));
}

/** The console's pages, for browsers: src/console/assets.ts serves them. */
function pagesFor(outdir) {
  return {
    entryPoints: ['main.ts', 'enter.ts', 'app.css'].map((name) => ({
      in: `src/console/page/${name}`,
      out: name.replace('main.ts', 'app').replace(/\.(ts|css)$/, ''),
    })),
    outdir: `${outdir}/console`,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
    plugins: [],
  };
}

function optionsFor(outdir, plugins) {
  const shared = {
    outdir,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    // Less text to read and to keep in memory. Names stay, for stack traces and profiles; so do short lines, of which
    // Node shows one when a program crashes. Not `minifySyntax`: with it, sign-in at the bundled authorization server
    // fails (session_not_found).
    minifyWhitespace: true,
    lineLimit: 160,
    sourcemap: true,
    // Stack traces need places alone; the sources would be kept in memory.
    sourcesContent: false,
    // In a file of their own: the program is ASCII.
    legalComments: 'external',
    logLevel: 'warning',
    // A package is either bundled or a dependency, never both. Only native code has to be a dependency: `lmdb`, which
    // is loaded when a file store is opened.
    external: Object.keys(dependencies),
    // A script from the code cache has `require`, and no module loader.
    supported: { 'dynamic-import': false },
  };
  return [
    {
      ...shared,
      entryPoints: { bascule: 'src/cli/main.ts' },
      // A function, which src/cli/launch.ts compiles and calls.
      banner: { js: '(function (require, programUrl) {' },
      footer: { js: '})' },
      define: { 'import.meta.url': 'programUrl', BUNDLED_CEDAR: '"./cedar/cedar_wasm.js"' },
      plugins: [...plugins, filesApart, withoutHttp2, loadedAtFirstUse, inAscii(join(outdir, 'bascule.js'))],
    },
    {
      ...shared,
      entryPoints: {
        main: 'src/cli/launch.ts',
        demo: 'src/demo/main.ts',
        ...Object.fromEntries(apart.map(({ name, entry }) => [name, entry])),
      },
      plugins: [...plugins],
    },
    pagesFor(outdir),
  ];
}

/**
 * Files of their own, so that their text is read only where it is needed. They keep no state that the program shares.
 */
const apart = [
  { name: 'oidc-provider', entry: 'oidc-provider', imported: /^oidc-provider$/ },
  { name: 'otlp', entry: 'src/observe/traces/export.ts', imported: /^\.\/export\.ts$/ },
  { name: 'redis', entry: 'src/store/redis/redis-client.ts', imported: /^\.\/redis-client\.ts$/ },
  {
    name: 'certificates',
    entry: 'src/proxy/certificates/certificate.ts',
    imported: /\/certificates\/certificate\.ts$/,
  },
  { name: 'pins', entry: 'src/pins/open.ts', imported: /\/pins\/open\.ts$/ },
  { name: 'pins-command', entry: 'src/cli/pins/command.ts', imported: /\/pins\/command\.ts$/ },
  { name: 'approvals', entry: 'src/approvals/open.ts', imported: /\/approvals\/open\.ts$/ },
  { name: 'searches', entry: 'src/budget/searches.ts', imported: /\/budget\/searches\.ts$/ },
  { name: 'arguments', entry: 'src/budget/check.ts', imported: /\/budget\/check\.ts$/ },
  { name: 'doctor', entry: 'src/cli/doctor-command.ts', imported: /\/doctor-command\.ts$/ },
  { name: 'check', entry: 'src/cli/check-command.ts', imported: /\/check-command\.ts$/ },
];

const filesApart = {
  name: 'files apart',
  setup: ({ onResolve }) => {
    for (const { name, imported } of apart)
      onResolve({ filter: imported }, () => ({ path: `./${name}.js`, external: true }));
  },
};

/** undici loads it for a feature that is off, and can do without it. It takes 10 ms to load. */
const withoutHttp2 = {
  name: 'without http2',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:http2$/ }, ({ path }) => ({ path, namespace: 'absent' }));
    onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: "throw new Error('not bundled')" }));
  },
};

/** Modules that most starts do not need, and that take milliseconds to load. */
const atFirstUse = /^(?:node:(?:child_process|fs\/promises|tls|zlib)|@marcbachmann\/cel-js|jose|oauth4webapi)$/;

/** Loads these modules when one of their members is first read. */
const loadedAtFirstUse = {
  name: 'loaded at first use',
  setup: ({ onResolve, onLoad }) => {
    const namespace = 'at-first-use';
    onResolve({ filter: atFirstUse }, ({ path, namespace: from }) =>
      from === namespace ? undefined : { path, namespace },
    );
    onLoad({ filter: /.*/, namespace }, async ({ path }) => {
      const getters = Object.keys(await import(path)).map(
        (name) => `get ${name}() { return require('${path}').${name}; }`,
      );
      return { contents: `module.exports = { ${getters} };`, resolveDir: import.meta.dirname };
    });
  },
};

/**
 * Escapes the few characters that esbuild leaves in templates and regular expressions. V8 keeps a text with one of them
 * at two bytes for each character, which is 2 MB more.
 */
function inAscii(file) {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'in ASCII',
    setup: ({ onEnd }) =>
      onEnd(({ errors }) => {
        if (errors.length === 0) writeFileSync(file, readFileSync(file, 'utf8').replace(/[^\0-\x7f]/g, escaped));
      }),
  };
}
