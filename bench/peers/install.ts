/** Gets a peer from the registry that it is published in, once for each version. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resultsDirectory } from '../build.ts';

const run = promisify(execFile);
/** A large Go program takes minutes to compile, on a busy machine many of them. */
const PATIENCE_MS = 3_600_000;
/** What the installers say: none of them says as much. */
const OUTPUT_BYTES = 64 * 1024 * 1024;
/** Of what a failed command wrote: its last words name the reason. */
const SHOWN = 500;

async function execute(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await run(command, args, { cwd, timeout: PATIENCE_MS, maxBuffer: OUTPUT_BYTES });
    return stdout;
  } catch (cause) {
    const { stderr = '', message } = cause as Error & { stderr?: string };
    const said = stderr.trim().slice(-SHOWN) || message;
    throw new Error(`\`${command} ${args.join(' ')}\` failed: ${said}`, { cause });
  }
}

export interface Recipe {
  /** What is installed, in which version: another one is installed anew. */
  readonly what: string;
  into(directory: string): Promise<void>;
}

export const peerPath = (peer: string, ...path: string[]): string =>
  join(resultsDirectory, 'peers', peer.toLowerCase().replaceAll(/[^a-z]+/g, '-'), ...path);

/** Into a directory of the peer's own; a note that is written last says what is there. */
export async function installOnce(peer: string, { what, into }: Recipe): Promise<void> {
  const note = peerPath(peer, 'installed');
  if (existsSync(note) && readFileSync(note, 'utf8') === what) return;
  process.stderr.write(`installing ${what} ...\n`);
  const directory = peerPath(peer);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await into(directory);
  writeFileSync(note, what);
}

export function npmPackage(name: string, version: string): Recipe {
  const what = `${name}@${version}`;
  return {
    what,
    into: async (directory) => {
      writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
      await execute('npm', ['install', '--no-audit', '--no-fund', what], directory);
    },
  };
}

export function pythonPackage(name: string, version: string): Recipe {
  const what = `${name}==${version}`;
  return {
    what,
    into: async (directory) => {
      await execute('python3', ['-m', 'venv', directory], directory);
      const pip = ['install', '--quiet', '--disable-pip-version-check', what];
      await execute(join(directory, 'bin/pip'), pip, directory);
    },
  };
}

/**
 * Built where the module cache has it, by its own `go.mod` and `go.sum`: `go install` asks for the list of all versions
 * as well, and for checksums that its `go.sum` has already.
 */
export function goProgram(module: string, version: string, folder = '.'): Recipe {
  const what = `${module}@${version}`;
  return {
    what,
    into: async (directory) => {
      const { Dir } = JSON.parse(await execute('go', ['mod', 'download', '-json', what], directory)) as { Dir: string };
      await execute('go', ['build', '-buildvcs=false', '-o', join(directory, 'program'), folder], Dir);
    },
  };
}

/** Unpacked, not installed: nothing of the system is changed. Which version there is, is up to the distribution. */
export function debianPackage(name: string): Recipe {
  return {
    what: name,
    into: async (directory) => {
      await execute('apt-get', ['download', name], directory);
      await execute('sh', ['-c', 'dpkg-deb --extract *.deb .'], directory);
    },
  };
}

/** What a program says that it is. */
export async function said(pattern: RegExp, command: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(command, args, { timeout: PATIENCE_MS });
  return pattern.exec(stdout + stderr)?.[0] ?? 'unknown';
}
