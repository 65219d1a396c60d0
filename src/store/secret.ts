/** The gateway's own key: from the config, or made once and stored beside the records that it seals. */
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, linkSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from './errors.ts';
import { prepareDirectory, withDraft } from './file/directory.ts';

const SECRET_BYTES = 32;

/** The length of our own keys; a file with less is truncated or not ours. */
const LEAST_CHARACTERS = 43;

/** A larger file is not ours. */
const MOST_CHARACTERS = 1024;

/** Any permission for group or others is too much. */
const OTHERS = 0o077;

export interface SecretSource {
  /** `seal.key` of the configuration. */
  readonly configured: string | undefined;
  readonly dir: string;
}

/** Throws a StoreError that says what to do. Processes that start at once with the same directory get the same key. */
export function loadSecret({ configured, dir }: SecretSource): string {
  if (configured !== undefined) return configured;
  const path = join(dir, 'key');
  prepareDirectory(dir);
  return read(path) ?? make(path) ?? read(path) ?? fail(path, new Error('it was removed meanwhile'));
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
    if (!about.isFile()) return fail(path, new Error('it is not a file'));
    // Windows has no such permissions.
    if (process.platform !== 'win32' && (about.mode & OTHERS) !== 0)
      throw new StoreError(
        'exposed',
        `${path} can be read by other users. If no other user has read it, run chmod 600 on it. Otherwise remove it; then all users have to authorize again`,
      );
    const secret = about.size > MOST_CHARACTERS ? '' : readFileSync(file, 'utf8').trim();
    if (secret.length >= LEAST_CHARACTERS) return secret;
    throw new StoreError(
      'foreign',
      `${path} has no key: restore it from a backup, or remove it; then all users have to authorize again`,
    );
  } finally {
    closeSync(file);
  }
}

/**
 * Undefined if a different process was first. The file gets its name only when it is complete, and only if the name is
 * free: with O_EXCL on the final name, a different process could read an empty key.
 */
function make(path: string): string | undefined {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  try {
    withDraft(path, `${secret}\n`, (draft) => linkSync(draft, path));
    return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    return fail(path, error);
  }
}

function fail(path: string, error: unknown): never {
  const why = error instanceof Error ? error.message : 'unknown';
  throw new StoreError(
    'unusable',
    `${path} cannot be read or created: ${why}. Set seal.key, or another store.dir`,
    error,
  );
}
