/** The groups and keys that the files of a config have, so that rules about others can be reported. */
import { readTrustedFile } from '../app/trusted-file.ts';
import type { Config } from '../config/config.ts';
import { callersOf } from '../config/identity.ts';
import { readKeyFile } from '../identity/key-file.ts';
import { readUserFile } from '../oauth/server/user-file.ts';
import type { TrustedCredentials } from '../policy/match.ts';

export function knownCallers({ identity, authServer }: Config): TrustedCredentials {
  const callers = callersOf(identity, authServer);
  const keys = entriesIn(identity.keyFile, (text) => readKeyFile(text).keys);
  const users = entriesIn(authServer?.userFile, (text) => readUserFile(text).users);
  const keyNames = identity.keyFile === undefined ? undefined : keys?.map(({ name }) => name);
  // The groups that an issuer elsewhere gives are not known here.
  const isElsewhere = identity.issuers.length > 0 || authServer?.company !== undefined;
  if (isElsewhere || keys === undefined || users === undefined) return { ...callers, keyNames };
  return { ...callers, keyNames, groups: [...keys, ...users].flatMap(({ groups = [] }) => groups) };
}

/** Undefined where the file is missing or wrong: `config check` says so. */
function entriesIn<Entry>(
  file: string | undefined,
  read: (text: string) => readonly Entry[],
): readonly Entry[] | undefined {
  if (file === undefined) return [];
  try {
    const text = readTrustedFile(file);
    return text === undefined ? undefined : read(text);
  } catch {
    return undefined;
  }
}
