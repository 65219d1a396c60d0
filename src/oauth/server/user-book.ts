/** Pure operations on the user file; the command only reads, calls these, and writes. */
import { checkedGroups, shownGroups } from '../../identity/groups.ts';
import { ListFileError } from '../../identity/list-file.ts';
import { authServerLimits } from './limits.ts';
import type { PasswordHash } from './passwords.ts';
import { type User, type UserFile, userName } from './user-file.ts';

/** NIST SP 800-63B, 5.1.1.2: length is what counts. The upper limit bounds the cost of hashing. */
export const passwordChars = { least: 8, most: 256 } as const;

export function checkPassword(password: string): void {
  const { least, most } = passwordChars;
  if (password.length < least || password.length > most) {
    throw new ListFileError(`a password has ${least} to ${most} characters`);
  }
}

/** `file` is undefined if there is none yet. */
export function addUser(
  file: UserFile | undefined,
  name: string,
  password: PasswordHash,
  now: number,
  wanted: readonly string[] = [],
): UserFile {
  const users = file?.users ?? [];
  if (!userName.test(name)) {
    throw new ListFileError('a name is up to 128 letters, digits, dots, dashes, underscores, + and @');
  }
  if (users.some((user) => user.name === name)) throw new ListFileError(`there is a user ${name} already`);
  if (users.length >= authServerLimits.users) throw new ListFileError(`there are ${users.length} users already`);
  const groups = checkedGroups(wanted);
  const at = new Date(now).toISOString();
  const user = { name, password, ...(groups && { groups }), created: at, changed: at };
  return { version: 1, users: [...users, user] };
}

export function changePassword(
  file: UserFile | undefined,
  name: string,
  password: PasswordHash,
  now: number,
): UserFile {
  const changed = new Date(now).toISOString();
  const users = existing(file, name).map((user) => (user.name === name ? { ...user, password, changed } : user));
  return { version: 1, users };
}

export function setGroups(file: UserFile | undefined, name: string, wanted: readonly string[]): UserFile {
  const groups = checkedGroups(wanted);
  const changed = ({ groups: _old, ...user }: User): User => ({ ...user, ...(groups && { groups }) });
  return { version: 1, users: existing(file, name).map((user) => (user.name === name ? changed(user) : user)) };
}

export function removeUser(file: UserFile | undefined, name: string): UserFile {
  return { version: 1, users: existing(file, name).filter((user) => user.name !== name) };
}

function existing(file: UserFile | undefined, name: string): readonly User[] {
  const users = file?.users ?? [];
  if (!users.some((user) => user.name === name)) throw new ListFileError(`there is no user ${name}`);
  return users;
}

/** One line for each user. The output contains no secret. */
export function describeUsers({ users }: UserFile): string[] {
  return users.map(({ name, groups, created, changed }) => {
    const since = changed === created ? '' : `  password of ${changed}`;
    return `${name}${shownGroups(groups)}  added ${created}${since}`;
  });
}
