/** Changes to a key file. Pure: the command reads the file, calls this, and writes the file. */

import { checkedGroups, shownGroups } from './groups.ts';
import { hashSecret, type KeyEntry, type KeyFile, KeyRequestError, keyName, scopeToken, writeKey } from './key-file.ts';
import { identityLimits } from './limits.ts';
import { ListFileError } from './list-file.ts';

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly groups?: readonly string[] | undefined;
  readonly expiresAt?: number | undefined;
}

export interface Randomness {
  readonly bytes: (count: number) => Buffer;
  readonly now: () => number;
}

/** 256 bits. */
const SECRET_BYTES = 32;
const SALT_BYTES = 32;
const ID_LENGTH = 12;

export interface Added {
  readonly file: KeyFile;
  readonly entry: KeyEntry;
  /** Shown only this once. */
  readonly key: string;
}

/** `file` is undefined if there is none yet. */
export function addKey(file: KeyFile | undefined, wanted: NewKey, { bytes, now }: Randomness): Added {
  const { name, scopes, expiresAt } = wanted;
  const groups = checkedGroups(wanted.groups ?? []);
  if (!keyName.test(name))
    throw new KeyRequestError(
      `\`${name}\` cannot be the name of a key: a name is up to 64 letters, digits, dots, dashes, underscores and @`,
    );
  if (!scopes.every((scope) => scopeToken.test(scope))) {
    throw new KeyRequestError('a scope has no spaces, quotes, backslashes or letters beyond ASCII');
  }
  if (expiresAt !== undefined && expiresAt <= now()) throw new KeyRequestError('the expiry is in the past');
  const { salt, keys } = file ?? { salt: bytes(SALT_BYTES).toString('base64url'), keys: [] };
  if (keys.length >= identityLimits.keys) throw new ListFileError(`there are ${keys.length} keys already`);
  const id = unusedId(keys, bytes);
  const secret = bytes(SECRET_BYTES).toString('base64url');
  const entry: KeyEntry = {
    id,
    name,
    hash: hashSecret(secret, salt).toString('base64url'),
    scopes: [...new Set(scopes)],
    ...(groups && { groups }),
    created: new Date(now()).toISOString(),
    ...(expiresAt === undefined ? {} : { expires: new Date(expiresAt).toISOString() }),
  };
  return { file: { version: 1, salt, keys: [...keys, entry] }, entry, key: writeKey({ id, secret }) };
}

function unusedId(keys: readonly KeyEntry[], bytes: Randomness['bytes']): string {
  // Hexadecimal: only letters and digits, so that the underscore after the id is unambiguous.
  const id = bytes(ID_LENGTH / 2).toString('hex');
  return keys.some((key) => key.id === id) ? unusedId(keys, bytes) : id;
}

export interface Removed {
  readonly file: KeyFile;
  readonly removed: readonly KeyEntry[];
}

/** Removes one key by its id, or all keys with that name. */
export function removeKeys(file: KeyFile, idOrName: string): Removed {
  const removed = namedKeys(file, idOrName);
  return { file: { ...file, keys: file.keys.filter((key) => !removed.includes(key)) }, removed };
}

/** Gives one key, or all keys with that name, other groups. Throws a `ListFileError` where there is none. */
export function changeGroups(file: KeyFile, idOrName: string, wanted: readonly string[]): KeyFile {
  const groups = checkedGroups(wanted);
  const meant = namedKeys(file, idOrName);
  if (meant.length === 0) throw new ListFileError(`no key has the id or name ${idOrName}`);
  const changed = ({ groups: _old, ...key }: KeyEntry): KeyEntry => ({ ...key, ...(groups && { groups }) });
  return { ...file, keys: file.keys.map((key) => (meant.includes(key) ? changed(key) : key)) };
}

function namedKeys({ keys }: KeyFile, idOrName: string): readonly KeyEntry[] {
  const byId = keys.filter(({ id }) => id === idOrName);
  return byId.length > 0 ? byId : keys.filter(({ name }) => name === idOrName);
}

/** One line per key. Contains no secret. */
export function describeKeys({ keys }: KeyFile, now: number): string[] {
  return keys.map(({ id, name, scopes, groups, created, expires }) => {
    const end =
      expires === undefined ? 'does not expire' : `${Date.parse(expires) <= now ? 'EXPIRED' : 'until'} ${expires}`;
    return `${id}  ${name}  scopes: ${scopes.join(' ') || 'none'}${shownGroups(groups)}  made ${created}  ${end}`;
  });
}
