/** What the package contains of others: facts for the notices and for the SBOM. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { bundle, copiedPackages } from '../bundle.js';

export interface Component {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** Of the archive at the registry, as the lock file has it. */
  readonly integrity: string;
  /** Where it is installed, such as `node_modules/zod`. */
  readonly folder: string;
}

interface LockEntry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

function readLock(): Lock['packages'] {
  const lock: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  return lock.packages;
}

/** Packages of which code is in the bundle, or files beside it. Builds the bundle to find out. */
export async function bundledComponents(): Promise<readonly Component[]> {
  const outdir = mkdtempSync(join(tmpdir(), 'bascule-contents-'));
  try {
    return componentsIn(await bundle(outdir));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

function componentsIn(builds: readonly Metafile[]): readonly Component[] {
  const files = builds
    .flatMap(({ outputs }) => Object.values(outputs))
    .flatMap(({ inputs }) => Object.entries(inputs))
    // A file of which nothing was used is not in the bundle.
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const folders = files.flatMap(([file]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.slice(0, 1) ?? []);
  const copied = copiedPackages.map((name) => `node_modules/${name}`);
  return sorted([...new Set([...folders, ...copied])].map(componentAt));
}

/** What `npm install` of the package adds: its dependencies, and theirs, for every platform. */
export function installedComponents(): readonly Component[] {
  const lock = readLock();
  const found = new Set<string>();
  const visit = (from: string, { dependencies = {}, optionalDependencies = {} }: LockEntry): void => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const folder = resolved(lock, from, name);
      if (found.has(folder)) continue;
      found.add(folder);
      visit(folder, lock[folder] ?? {});
    }
  };
  visit('', lock[''] ?? {});
  return sorted([...found].map(componentAt));
}

/** As Node looks for a package: in the folder, and in those above it. */
function resolved(lock: Lock['packages'], from: string, name: string): string {
  const inside = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (lock[inside] !== undefined) return inside;
  if (from === '') throw new Error(`package-lock.json has no ${name}`);
  return resolved(lock, from.slice(0, Math.max(0, from.lastIndexOf('node_modules/') - 1)), name);
}

function componentAt(folder: string): Component {
  const { version, license, integrity } = readLock()[folder] ?? {};
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  if (version === undefined || license === undefined || integrity === undefined)
    throw new Error(`package-lock.json does not say the version, license and integrity of ${folder}`);
  return { name, version, license, integrity, folder };
}

function sorted(components: readonly Component[]): readonly Component[] {
  return components.toSorted((one, other) =>
    one.name === other.name ? order(one.version, other.version) : order(one.name, other.name),
  );
}

/** By code units: the same on every machine. */
function order(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** The texts of a package that its license wants to be passed on. */
export function licenseTexts({ folder }: Component): readonly string[] {
  const names = readdirSync(folder).filter((name) => /^(?:licen[cs]e|notice|copying)(?:[.-]|$)/i.test(name));
  return names.toSorted(order).map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim());
}
