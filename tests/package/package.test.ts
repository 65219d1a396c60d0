/** What is published, and what an installation trusts. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

interface LockEntry {
  readonly integrity?: string;
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
      for (const [, from = ''] of code.matchAll(/^(?:import|export) (?:.* from )?"([^"]+)";$/gm)) imported.add(from);
      for (const [, from = ''] of code.matchAll(/\bimport\("([^"]+)"\)/g)) imported.add(from);
    }
    const foreign = [...imported].filter((from) => !from.startsWith('./') && !isBuiltin(from)).sort();
    expect(foreign).toEqual(Object.keys(dependencies));
  });

  it('runs from a folder without node_modules', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-package-'));
    try {
      cpSync(dirname(dirname(builtProgram())), folder, { recursive: true });
      cpSync(join(root, 'package.json'), join(folder, 'package.json'));
      const said = execFileSync(process.execPath, [join(folder, 'bin', 'bascule.js'), 'config', 'check'], {
        cwd: folder,
        encoding: 'utf8',
      });
      expect(said).toContain('demo');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function builtProgram(): string {
  const program = inject('executable');
  if (program === undefined) throw new Error('the program was not built');
  return program;
}
