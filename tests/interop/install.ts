/**
 * Installs other people's software into `.cache/`: each set once, one at a time, from the registries that the tools
 * know.
 */
import { spawn } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CACHE, HERE, type Installed } from './software.ts';

const INSTALL_LIMIT_MS = 20 * 60_000;
const LAST_WORDS = 2_000;

interface Recipe {
  /** Its folder in the cache. */
  readonly folder: string;
  /** What pins it. If one of these files changes, the set is installed anew. */
  readonly pins: readonly string[];
  readonly install: (into: string) => Promise<void>;
}

function recipeOf(set: Exclude<Installed, 'project'>): Recipe {
  if (typeof set === 'object') return venv(set.venv);
  return { npm, go, rust }[set];
}

function venv(name: string): Recipe {
  const pins = join(HERE, 'python', `${name}.txt`);
  return {
    folder: name,
    pins: [pins],
    install: async (into) => {
      await run('python3', ['-m', 'venv', into]);
      await run(join(into, 'bin', 'pip'), ['install', '--quiet', '--no-deps', '--requirement', pins]);
    },
  };
}

const npm: Recipe = {
  folder: 'npm',
  pins: ['package.json', 'package-lock.json'].map((file) => join(HERE, 'npm', file)),
  install: async (into) => {
    for (const file of npm.pins) await copyFile(file, join(into, file.slice(file.lastIndexOf('/') + 1)));
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], into);
  },
};

/** Sources are pins too: a changed program is built anew. */
const go: Recipe = {
  folder: 'go',
  pins: [join(HERE, 'go')],
  install: async (into) => {
    await mkdir(join(into, 'bin'), { recursive: true });
    await run('go', ['build', '-o', `${join(into, 'bin')}/`, './...'], join(HERE, 'go'));
  },
};

const rust: Recipe = {
  folder: 'rust',
  pins: ['Cargo.toml', 'src'].map((path) => join(HERE, 'rust', path)),
  install: async (into) => {
    const from = ['--path', join(HERE, 'rust')];
    await run('cargo', ['install', '--quiet', '--root', into, '--target-dir', join(into, 'target'), ...from], into);
  },
};

const keyOf = (set: Installed): string => (typeof set === 'object' ? set.venv : set);

/** Gives what went wrong with each set that could not be installed. */
export async function install(sets: readonly Installed[]): Promise<Map<string, string>> {
  const failures = new Map<string, string>();
  const wanted = new Map(sets.map((set) => [keyOf(set), set]));
  for (const [key, set] of wanted) {
    if (set === 'project') continue;
    try {
      await ensure(recipeOf(set));
    } catch (error) {
      failures.set(key, error instanceof Error ? error.message : String(error));
    }
  }
  return failures;
}

export function whyMissing(failures: ReadonlyMap<string, string>, set: Installed): string | undefined {
  return failures.get(keyOf(set));
}

async function ensure({ folder, pins, install: make }: Recipe): Promise<void> {
  const into = join(CACHE, folder);
  const mark = join(into, '.pins');
  const digest = createHash('sha256');
  for (const pin of pins) await addFiles(pin, digest);
  const pinned = digest.digest('hex');
  if (existsSync(mark) && (await readFile(mark, 'utf8')) === pinned) return;
  const start = Date.now();
  await rm(into, { recursive: true, force: true });
  await mkdir(into, { recursive: true });
  await make(into);
  await writeFile(mark, pinned);
  console.log(`installed ${folder} in ${Math.round((Date.now() - start) / 1000)} s`);
}

async function addFiles(path: string, digest: Hash): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) {
    digest.update(path.slice(HERE.length)).update(await readFile(path));
    return;
  }
  for (const { name } of entries.sort((a, b) => a.name.localeCompare(b.name))) await addFiles(join(path, name), digest);
}

async function run(command: string, args: readonly string[], cwd = HERE): Promise<void> {
  const child = spawn(command, [...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: INSTALL_LIMIT_MS });
  let words = '';
  const read = (chunk: Buffer): void => {
    words = (words + chunk.toString()).slice(-LAST_WORDS);
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
  const [code] = (await Promise.race([once(child, 'close'), failed])) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${words.trim()}`);
}
