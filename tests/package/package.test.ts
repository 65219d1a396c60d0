/** What is published, and what an installation trusts. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin, SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { verifies } from '../requirements/verifies.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

interface LockEntry {
  readonly integrity?: string;
  readonly version?: string;
  readonly license?: string;
  readonly link?: boolean;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

describe('the lock file', () => {
  it('has an integrity hash for every package, those of other platforms included', () => {
    const { packages } = readJson<Lock>('package-lock.json');
    const installed = Object.entries(packages).filter(([path, entry]) => path !== '' && entry.link !== true);
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path)).toEqual(
      [],
    );
  });
});

describe('the bundle', () => {
  it('imports only Node and the dependencies of the package', () => {
    const { dependencies } = readJson<{ readonly dependencies: Readonly<Record<string, string>> }>('package.json');
    const dist = join(dirname(dirname(builtProgram())), 'dist');
    const imported = new Set<string>();
    for (const name of readdirSync(dist).filter((file) => file.endsWith('.js'))) {
      const code = readFileSync(join(dist, name), 'utf8');
      for (const [, from = ''] of code.matchAll(/\brequire\("([^"]+)"\)/g)) imported.add(from);
    }
    const isOurs = (from: string) => from.startsWith('./') || from.startsWith('node:') || isBuiltin(from);
    const foreign = [...imported].filter((from) => !isOurs(from)).sort();
    expect(foreign).toEqual(Object.keys(dependencies));
  });

  it('runs from a folder without node_modules', () => {
    inCopy((folder) => expect(run(folder, ['config', 'check'])).toContain('demo'));
  });

  it('is ASCII, which V8 keeps at one byte for each character', () => {
    const program = readFileSync(join(dirname(dirname(builtProgram())), 'dist', 'bascule.js'));
    expect(program.findIndex((byte) => byte > 0x7f)).toBe(-1);
  });
});

describe('a config with an HTTP backend', () => {
  it('loads no module of Node that only other configs need', () => {
    inCopy((folder) => {
      writeFileSync(join(folder, 'mcp.json'), '{ "mcpServers": { "b": { "url": "http://127.0.0.1:9/mcp" } } }');
      const preload = join(folder, 'telling.cjs');
      writeFileSync(preload, "process.on('exit', () => console.log(process.moduleLoadList.join('\\n')));");
      const loaded = run(folder, ['config', 'check', 'mcp.json'], ['--require', preload]).split('\n');
      expect(loaded).toContain('NativeModule http');
      const needless = ['child_process', 'fs/promises', 'http2', 'tls', 'zlib'];
      expect(needless.filter((name) => loaded.includes(`NativeModule ${name}`))).toEqual([]);
    });
  });
});

describe('the source maps', verifies('gateway:delivery:package'), () => {
  const dist = () => join(dirname(dirname(builtProgram())), 'dist');

  it('name our sources alone', () => {
    const maps = readdirSync(dist()).filter((file) => file.endsWith('.map'));
    expect(maps).toContain('bascule.js.map');
    expect(maps).not.toContain('oidc-provider.js.map');
    const sources = maps.flatMap((name): string[] => JSON.parse(readFileSync(join(dist(), name), 'utf8')).sources);
    expect(sources.filter((source) => !/(?:^|\/)src\//.test(source) || source.includes('node_modules'))).toEqual([]);
  });

  it('lead from a place in our code to its source, and from one in a dependency to none', () => {
    const text = readFileSync(join(dist(), 'bascule.js'), 'utf8').split('\n');
    const map = new SourceMap(JSON.parse(readFileSync(join(dist(), 'bascule.js.map'), 'utf8')));
    const sourceOf = (code: string) => {
      const line = text.findIndex((one) => one.includes(code));
      const entry = map.findEntry(line, text[line]?.indexOf(code) ?? -1);
      return 'originalSource' in entry ? entry.originalSource : undefined;
    };
    expect(sourceOf('function loadConfig(')).toMatch(/src\/config\/load\.ts$/);
    // A method of commander.
    expect(sourceOf('parseAsync(')).toBeUndefined();
  });
});

describe('the notices', () => {
  it('name every package that the lock file has for the bundle, and its license', () => {
    const page = readFileSync(join(root, 'THIRD-PARTY-NOTICES.md'), 'utf8');
    const { packages } = readJson<Lock>('package-lock.json');
    const rows = [...page.matchAll(/^\| (\S+) \| (\S+) \| ([^|]+) \|$/gm)].filter(([, , version]) =>
      /^\d/.test(version ?? ''),
    );
    expect(rows.length).toBeGreaterThan(50);
    const known = Object.entries(packages).map(
      ([path, { version, license }]) => `${path.split('node_modules/').at(-1)} ${version} ${license}`,
    );
    const stale = rows.map(([, ...facts]) => facts.join(' ')).filter((row) => !known.includes(row));
    expect(stale).toEqual([]);
  });
});

describe('the version', () => {
  it('is the same in every place that has it', () => {
    execFileSync('npx', ['tsx', 'scripts/release/version.ts', '--check'], { cwd: root });
  });
});

describe('the code cache', () => {
  /** Tells what V8 said of the code, before the program runs. */
  const telling = `const vm = require('node:vm');
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options);
        const { cachedDataRejected: isRejected } = this;
        console.log('code cache', isRejected === undefined ? 'missing' : isRejected ? 'rejected' : 'used');
      }
    };`;

  it.each([
    { name: 'is used by the Node that built it', expected: 'used' },
    { name: 'is not used under other flags of V8, and the program runs', expected: 'rejected', flags: ['--no-opt'] },
    { name: 'is not used when it is cut, and the program runs', expected: 'missing', changed: cutShort },
    // V8 itself would crash.
    { name: 'is not used when it is damaged, and the program runs', expected: 'missing', changed: overwritten },
    {
      name: 'is not used for another text of the same length, and the program runs',
      expected: 'missing',
      file: 'bascule.js',
      changed: withOtherSpace,
    },
    { name: 'may be missing', expected: 'missing', changed: () => undefined },
  ])('$name', ({ expected, flags = [], file = 'bascule.js.cache', changed }) => {
    inCopy((folder) => {
      const path = join(folder, 'dist', file);
      const content = changed === undefined ? readFileSync(path) : changed(readFileSync(path));
      if (content === undefined) rmSync(path);
      else writeFileSync(path, content);
      const preload = join(folder, 'telling.cjs');
      writeFileSync(preload, telling);
      const said = run(folder, ['config', 'check'], [...flags, '--require', preload]);
      expect(said).toMatch(new RegExp(`^code cache ${expected}\n`));
      expect(said).toContain('demo');
    });
  });
});

function cutShort(content: Buffer): Buffer {
  return content.subarray(0, content.byteLength / 2);
}

/** V8 reads a header before it, which stays. */
function overwritten(content: Buffer): Buffer {
  return Buffer.from(content).fill(0xff, 4_096, 5_120);
}

/** The banner of the bundle has this space. */
function withOtherSpace(content: Buffer): Buffer {
  return Buffer.from(content.toString('latin1').replace('(function (require', '(function\t(require'));
}

function inCopy(check: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-package-'));
  try {
    cpSync(dirname(dirname(builtProgram())), folder, { recursive: true });
    cpSync(join(root, 'package.json'), join(folder, 'package.json'));
    check(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(folder: string, args: readonly string[], nodeArgs: readonly string[] = []): string {
  return execFileSync(process.execPath, [...nodeArgs, join(folder, 'bin', 'bascule.js'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
}

function builtProgram(): string {
  const program = inject('executable');
  if (program === undefined) throw new Error('the program was not built');
  return program;
}
