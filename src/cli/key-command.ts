/** `bascule key`: new, list and revoke. A running gateway notices the change by itself. */
import { randomBytes } from 'node:crypto';
import { replaceFile } from '../app/key-files.ts';
import { readTrustedFile } from '../app/trusted-file.ts';
import { readQuantity } from '../config/quantity.ts';
import { addKey, changeGroups, describeKeys, removeKeys } from '../identity/key-book.ts';
import { KeyRequestError, readKeyFile, writeKeyFile } from '../identity/key-file.ts';
import { ListFileError } from '../identity/list-file.ts';

export interface KeyCommand {
  /** The absolute path. */
  readonly file: string;
  /** Results: for people and for scripts. */
  readonly say: (text: string) => void;
  /** Everything else, for people. */
  readonly remark: (text: string) => void;
  readonly now?: () => number;
}

export interface NewKeyFlags {
  readonly scopes?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
  /** A duration from now (`90d`), or a date. */
  readonly expires?: string | undefined;
}

/** Prints the key alone on stdout, so that it can be piped. */
export function newKey(name: string, flags: NewKeyFlags, { file, say, remark, now = Date.now }: KeyCommand): void {
  const expiresAt = flags.expires === undefined ? undefined : momentOf(flags.expires, now());
  let key = '';
  replaceFile(file, (text) => {
    const before = text === undefined ? undefined : readKeyFile(text);
    const { scopes = [], groups } = flags;
    const added = addKey(before, { name, scopes, groups, expiresAt }, { bytes: randomBytes, now });
    key = added.key;
    remark(`created key ${added.entry.id} for ${name} in ${file}. The key is shown only now:`);
    return writeKeyFile(added.file);
  });
  say(key);
}

export function listKeys({ file, say, remark, now = Date.now }: KeyCommand): void {
  const text = readTrustedFile(file);
  const lines = text === undefined ? [] : describeKeys(readKeyFile(text), now());
  if (lines.length === 0) remark(`there are no keys in ${file}`);
  for (const line of lines) say(line);
}

export function revokeKey(idOrName: string, { file, say, now = Date.now }: KeyCommand): void {
  let gone: string[] = [];
  replaceFile(file, (text) => {
    if (text === undefined) throw new ListFileError('there is no such file');
    const before = readKeyFile(text);
    const { file: after, removed } = removeKeys(before, idOrName);
    if (removed.length === 0) throw new ListFileError(`no key has the id or name ${idOrName}`);
    gone = describeKeys({ ...before, keys: removed }, now());
    return writeKeyFile(after);
  });
  for (const line of gone) say(`revoked ${line}`);
}

/** No groups: takes all of them away. */
export function setKeyGroups(idOrName: string, groups: readonly string[], { file, remark }: KeyCommand): void {
  replaceFile(file, (text) => {
    if (text === undefined) throw new ListFileError('there is no such file');
    return writeKeyFile(changeGroups(readKeyFile(text), idOrName, groups));
  });
  remark(`${idOrName} has ${groups.length === 0 ? 'no groups' : `the groups ${groups.join(' ')}`} now`);
}

const DAY = 86_400_000;
/** A hundred years: a key that is meant to last for ever needs no expiry. */
const within = { unit: 'ms', min: 1, max: 36_525 * DAY } as const;

function momentOf(text: string, now: number): number {
  // Require a unit: a bare number would mean milliseconds, which is never what people want.
  const span = /[a-z]$/.test(text) ? readQuantity(text, within) : undefined;
  const moment = span === undefined ? (/^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN) : now + span;
  if (Number.isNaN(moment)) throw new KeyRequestError('--expires is a time such as 90d, or a date such as 2027-01-31');
  return moment;
}
