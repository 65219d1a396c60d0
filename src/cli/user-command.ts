/** `bascule user`: add, list, remove and passwd. A running gateway notices the change by itself. */
import { replaceFile } from '../app/key-files.ts';
import { readTrustedFile } from '../app/trusted-file.ts';
import { hashPassword } from '../oauth/server/passwords.ts';
import {
  addUser,
  changePassword,
  checkPassword,
  describeUsers,
  removeUser,
  setGroups,
} from '../oauth/server/user-book.ts';
import { readUserFile, type UserFile, writeUserFile } from '../oauth/server/user-file.ts';
import type { KeyCommand } from './key-command.ts';

export interface UserCommand extends KeyCommand {
  /** Never taken from the command line, which every user of the machine can see. */
  readonly askPassword: () => Promise<string>;
}

export async function newUser(
  name: string,
  command: UserCommand & { readonly groups?: readonly string[] | undefined },
): Promise<void> {
  const { file, remark, groups, now = Date.now } = command;
  // Check that the name is available before asking for a password.
  addUser(fileAt(file), name, nothing, now(), groups);
  const password = await hashed(command);
  change(file, (before) => addUser(before, name, password, now(), groups));
  remark(`added user ${name} to ${file}`);
}

export async function newPassword(name: string, command: UserCommand): Promise<void> {
  const { file, remark, now = Date.now } = command;
  changePassword(fileAt(file), name, nothing, now());
  const password = await hashed(command);
  change(file, (before) => changePassword(before, name, password, now()));
  remark(`changed the password of ${name}; connected clients must sign in again`);
}

/** No groups: takes all of them away. */
export async function setUserGroups(
  name: string,
  groups: readonly string[],
  { file, remark }: UserCommand,
): Promise<void> {
  change(file, (before) => setGroups(before, name, groups));
  remark(`${name} has ${groups.length === 0 ? 'no groups' : `the groups ${groups.join(' ')}`} now`);
}

export async function dropUser(name: string, { file, remark }: UserCommand): Promise<void> {
  change(file, (before) => removeUser(before, name));
  remark(`removed user ${name} from ${file}`);
}

export async function listUsers({ file, say, remark }: UserCommand): Promise<void> {
  const users = fileAt(file);
  const lines = users === undefined ? [] : describeUsers(users);
  if (lines.length === 0) remark(`there are no users in ${file}`);
  for (const line of lines) say(line);
}

/** A placeholder until the password is hashed. */
const nothing = { algorithm: 'scrypt', n: 0, r: 0, p: 0, salt: '', hash: '' } as const;

async function hashed({ askPassword }: UserCommand) {
  const password = await askPassword();
  checkPassword(password);
  return hashPassword(password);
}

function fileAt(path: string): UserFile | undefined {
  const text = readTrustedFile(path);
  return text === undefined ? undefined : readUserFile(text);
}

function change(path: string, step: (before: UserFile | undefined) => UserFile): void {
  replaceFile(path, (text) => writeUserFile(step(text === undefined ? undefined : readUserFile(text))));
}
