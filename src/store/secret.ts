/** The gateway's own key: the configured one, or one that is made once and stays beside the records that it seals. */
import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from './errors.ts';
import { prepareDirectory } from './file/directory.ts';

const SECRET_BYTES = 32;

/** As many characters as our own have; a file with less was cut or was not made here. */
const LEAST_CHARACTERS = 43;

/** A file that grew beyond this is none of ours. */
const MOST_CHARACTERS = 1024;

/** For the group, for others: any right is one too many. */
const OTHERS = 0o077;

export interface SecretSource {
  /** `seal.key` of the configuration. */
  readonly configured: string | undefined;
  readonly dir: string;
}

/** Throws a StoreError that says what to do. Processes that start at once with one directory have the same key. */
export function loadSecret({ configured, dir }: SecretSource): string {
  if (configured !== undefined) return configured;
  const path = join(dir, 'key');
  prepareDirectory(dir);
  return read(path) ?? make(path) ?? read(path) ?? fail(path, new Error('it vanished'));
}

function read(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    return fail(path, error);
  }
  try {
    const about = fstatSync(file);
    if (!about.isFile()) return fail(path, new Error('it is no file'));
    // Windows has no such rights to look at.
    if (process.platform !== 'win32' && (about.mode & OTHERS) !== 0)
      throw new StoreError(
        'exposed',
        `${path} can be read by other users: make sure that nobody has, then close it with chmod 600; otherwise remove it, and all who were authorized authorize again`,
      );
    const secret = about.size > MOST_CHARACTERS ? '' : readFileSync(file, 'utf8').trim();
    if (secret.length >= LEAST_CHARACTERS) return secret;
    throw new StoreError(
      'foreign',
      `${path} has no key: restore it from a copy, or remove it, and all who were authorized authorize again`,
    );
  } finally {
    closeSync(file);
  }
}

/**
 * Undefined where another process was first. It gets its name only once it is whole, and only where there is none: a name that
 * is taken by O_EXCL before the text is written would let the other process read an empty key.
 */
function make(path: string): string | undefined {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(file, `${secret}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    try {
      linkSync(draft, path);
      return secret;
    } finally {
      unlinkSync(draft);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    return fail(path, error);
  }
}

function fail(path: string, error: unknown): never {
  const why = error instanceof Error ? error.message : 'unknown';
  throw new StoreError(
    'unusable',
    `${path} cannot be read or made: ${why}. Configure seal.key, or another directory`,
    error,
  );
}
