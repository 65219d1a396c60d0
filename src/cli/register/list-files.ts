/** `key` and `user`: the commands that change the lists of who may call. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { KeyRequestError } from '../../identity/key-file.ts';
import { ListFileError } from '../../identity/list-file.ts';
import { askTwice, fromPipe } from '../ask-password.ts';
import { type KeyCommand, listKeys, newKey, revokeKey, setKeyGroups } from '../key-command.ts';
import { dropUser, listUsers, newPassword, newUser, setUserGroups, type UserCommand } from '../user-command.ts';
import { configOption, withConfig } from '../with-config.ts';

interface ListFileFlags {
  readonly file?: string;
  readonly config?: string;
}

interface KeyFlags extends ListFileFlags {
  readonly scope?: string[];
  readonly group?: string[];
  readonly expires?: string;
}

interface UserFlags extends ListFileFlags {
  readonly group?: string[];
  readonly passwordStdin?: boolean;
}

export function registerListFiles(program: Command): void {
  for (const group of [registerKey(program), registerUser(program)])
    for (const command of group.commands)
      command
        .option('--file <path>', `the ${group.name()} file; default: the one in the config`)
        .option(...configOption);
}

function registerKey(program: Command): Command {
  const keyCommand = program.command('key').description('create, list and revoke access keys');
  keyCommand
    .command('new <name>')
    .description('create a key and show it once; several keys may have the same name')
    .option('--scope <scope...>', 'scopes of the key')
    .option('--group <group...>', 'groups of the key, for the rules of a policy')
    .option('--expires <when>', 'when the key expires: a time from now, such as 90d, or a date')
    .action((name: string, flags: KeyFlags) =>
      withKeyFile(flags, (at) =>
        newKey(name, { scopes: flags.scope, groups: flags.group, expires: flags.expires }, at),
      ),
    );
  keyCommand
    .command('groups <idOrName> [groups...]')
    .description('give a key, or all keys of a name, these groups and no others')
    .action((idOrName: string, groups: readonly string[], flags: KeyFlags) =>
      withKeyFile(flags, (at) => setKeyGroups(idOrName, groups, at)),
    );
  keyCommand
    .command('list')
    .description('list names, scopes, groups and expiry, never the keys')
    .action((flags: KeyFlags) => withKeyFile(flags, listKeys));
  keyCommand
    .command('revoke <idOrName>')
    .description('remove a key, or all keys of a name, from the file; a running gateway notices it')
    .action((idOrName: string, flags: KeyFlags) => withKeyFile(flags, (at) => revokeKey(idOrName, at)));
  return keyCommand;
}

function registerUser(program: Command): Command {
  const userCommand = program
    .command('user')
    .description('add, list and remove users of the bundled authorization server');
  for (const { use, description, run, asks } of [
    { use: 'add', description: 'add a user; asks for the password', run: newUser, asks: true },
    {
      use: 'passwd',
      description: 'change the password; connected clients must sign in again',
      run: newPassword,
      asks: true,
    },
    { use: 'remove', description: 'remove a user from the file', run: dropUser, asks: false },
  ]) {
    const command = userCommand.command(`${use} <name>`).description(description);
    if (asks) command.option('--password-stdin', 'read the password from the first line of stdin');
    if (use === 'add') command.option('--group <group...>', 'groups of the user, for the rules of a policy');
    command.action((name: string, flags: UserFlags) =>
      withUserFile(flags, (at) => run(name, { ...at, groups: flags.group })),
    );
  }
  userCommand
    .command('groups <name> [groups...]')
    .description('give a user these groups and no others')
    .action((name: string, groups: readonly string[], flags: UserFlags) =>
      withUserFile(flags, (at) => setUserGroups(name, groups, at)),
    );
  userCommand
    .command('list')
    .description('list the names and groups, never the passwords')
    .action((flags: UserFlags) => withUserFile(flags, listUsers));
  return userCommand;
}

/** Uses the named file, else the config's, else `keys.json` in the current directory. */
function withKeyFile(flags: KeyFlags, action: (at: KeyCommand) => void): Promise<void> {
  return withListFile(
    flags,
    ({ identity }) => identity.keyFile ?? resolve('keys.json'),
    async (at) => action(at),
  );
}

/** Uses the named file, else the config's, else `users.json` in the current directory. */
function withUserFile(flags: UserFlags, action: (at: UserCommand) => Promise<void>): Promise<void> {
  const askPassword = () =>
    flags.passwordStdin === true
      ? fromPipe(process.stdin)
      : askTwice(process.stdin, (text) => process.stderr.write(text));
  const fileIn = ({ authServer }: Config) => authServer?.userFile ?? resolve('users.json');
  return withListFile(flags, fileIn, (at) => action({ ...at, askPassword }));
}

async function withListFile(
  flags: ListFileFlags,
  fileIn: (config: Config) => string,
  action: (at: KeyCommand) => Promise<void>,
): Promise<void> {
  const remark = (text: string) => process.stderr.write(`${text}\n`);
  const run = async (file: string) => {
    try {
      await action({ file, say: (text) => process.stdout.write(`${text}\n`), remark });
    } catch (error) {
      if (!(error instanceof ListFileError)) throw error;
      remark(error instanceof KeyRequestError ? error.message : `${file}: ${error.message}`);
      process.exitCode = 1;
    }
  };
  if (flags.file !== undefined) await run(resolve(flags.file));
  else await withConfig({ path: flags.config }, {}, ({ config }) => run(fileIn(config)));
}
