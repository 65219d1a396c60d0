/** The command line: read the config, start, stop. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { lineageOf } from '../app/lineage.ts';
import { ConfigSource } from '../app/reload/config-source.ts';
import { readTrustedFile } from '../app/trusted-file.ts';
import type { Config } from '../config/config.ts';
import { describeConfig } from '../config/describe.ts';
import { callersOf } from '../config/identity.ts';
import type { Loaded } from '../config/load.ts';
import { ConfigError, printable } from '../config/problems.ts';
import { KeyRequestError } from '../identity/key-file.ts';
import { ListFileError } from '../identity/list-file.ts';
import { review } from '../policy/review.ts';
import { about } from '../wire/about.ts';
import { askTwice, fromPipe } from './ask-password.ts';
import { type KeyCommand, listKeys, newKey, revokeKey } from './key-command.ts';
import { checkPolicy, type PolicyCommand, testPolicy } from './policy-command.ts';
import { missingHere } from './preflight.ts';
import { serve } from './serve.ts';
import { serveOverStdio } from './stdio.ts';
import { dropUser, listUsers, newPassword, newUser, type UserCommand } from './user-command.ts';

interface Flags {
  readonly host?: string;
  readonly port?: string;
  readonly openToNetwork?: boolean;
  readonly logLevel?: string;
  readonly logRequests?: boolean;
}

interface ListFileFlags {
  readonly file?: string;
  readonly config?: string;
}

interface KeyFlags extends ListFileFlags {
  readonly scope?: string[];
  readonly expires?: string;
}

interface UserFlags extends ListFileFlags {
  readonly passwordStdin?: boolean;
}

const configOption = ['--config <path>', 'bascule.yaml; default: the config file in the working directory'] as const;

const program = new Command(about.name)
  .description('An MCP gateway: any client revision in, any server revision out.')
  .version(about.version);

const configHelp =
  'bascule.yaml, or a client’s JSON file with mcpServers; default: the config file in the working directory, else the demo';

withFlags(program.command('serve [config]').description('serve over HTTP'))
  .option('--host <address>', 'address to listen on')
  .option('--port <port>', 'port to listen on; 0: any free port')
  .option('--open-to-network', 'allow listening on a network address without authentication')
  .action((path: string | undefined, flags: Flags) => withConfig(path, flags, unlessStartedByItself(serve)));

withFlags(program.command('stdio [config]').description('serve the client that started this process')).action(
  (path: string | undefined, flags: Flags) => withConfig(path, flags, unlessStartedByItself(serveOverStdio)),
);

const configCommand = program.command('config').description('check a config without serving it');
configCommand
  .command('check [config]')
  .description('report its problems, or describe what it means')
  .action((path: string | undefined) =>
    withConfig(path, {}, async ({ config, notices }) => {
      for (const notice of notices) process.stdout.write(`note: ${notice}\n`);
      const { policy } = config;
      const { places, callers } = reviewed(config);
      const remarks = policy === undefined ? [] : review(policy, places, callers);
      for (const problem of [...missingHere(config), ...remarks.map(({ rule, text }) => `rule \`${rule}\` ${text}`)])
        process.stdout.write(`warning: ${printable(problem)}\n`);
      process.stdout.write(`${describeConfig(config)}\n`);
    }),
  );

const policyCommand = program.command('policy').description('check a policy before it is in force');
policyCommand
  .command('check [config]')
  .description('describe its rules, and warn of those that can never match')
  .action((path: string | undefined) => withPolicy(path, checkPolicy));
policyCommand
  .command('test <cases>')
  .description('decide the cases in a file, and report those with an unexpected decision')
  .option(...configOption)
  .action((cases: string, flags: { readonly config?: string }) =>
    withPolicy(flags.config, (command) => {
      const text = readTrustedFile(resolve(cases));
      if (text !== undefined) return testPolicy(command, { name: cases, text });
      process.stderr.write(`${cases}: there is no such file\n`);
      return 1;
    }),
  );

const keyCommand = program.command('key').description('create, list and revoke access keys');
keyCommand
  .command('new <name>')
  .description('create a key and show it once; several keys may have the same name')
  .option('--scope <scope...>', 'scopes of the key')
  .option('--expires <when>', 'when the key expires: a time from now, such as 90d, or a date')
  .action((name: string, flags: KeyFlags) =>
    withKeyFile(flags, (at) => newKey(name, { scopes: flags.scope, expires: flags.expires }, at)),
  );
keyCommand
  .command('list')
  .description('list names, scopes and expiry, never the keys')
  .action((flags: KeyFlags) => withKeyFile(flags, listKeys));
keyCommand
  .command('revoke <idOrName>')
  .description('remove a key, or all keys of a name, from the file; a running gateway notices it')
  .action((idOrName: string, flags: KeyFlags) => withKeyFile(flags, (at) => revokeKey(idOrName, at)));

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
  command.action((name: string, flags: UserFlags) => withUserFile(flags, (at) => run(name, at)));
}
userCommand
  .command('list')
  .description('list the names, never the passwords')
  .action((flags: UserFlags) => withUserFile(flags, listUsers));

for (const group of [keyCommand, userCommand])
  for (const command of group.commands)
    command.option('--file <path>', `the ${group.name()} file; default: the one in the config`).option(...configOption);

// A rejection ends the process, as Node does by default.
void program.parseAsync();

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
  else await withConfig(flags.config, {}, ({ config }) => run(fileIn(config)));
}

/** The parts of a config that rules are checked against. */
function reviewed(config: Config) {
  return {
    places: Object.fromEntries(config.endpoints.map((endpoint) => [endpoint.path, endpoint.backends])),
    callers: callersOf(config.identity, config.authServer),
  };
}

async function withPolicy(path: string | undefined, run: (command: PolicyCommand) => number): Promise<void> {
  await withConfig(path, {}, async ({ config }) => {
    const say = (text: string) => void process.stdout.write(`${text}\n`);
    process.exitCode = run({ policy: config.policy, ...reviewed(config), say });
  });
}

function withFlags(command: Command): Command {
  return command
    .addHelpText('after', `\nconfig: ${configHelp}`)
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--log-requests', 'write a line to the log for each request');
}

type Action = (loaded: Loaded, source: ConfigSource) => Promise<void>;

function unlessStartedByItself(action: Action): Action {
  return async (loaded, source) => {
    const { refusal } = lineageOf(process.env, loaded.config.source);
    if (refusal === undefined) return action(loaded, source);
    process.stderr.write(`${printable(refusal)}\n`);
    process.exitCode = 1;
  };
}

async function withConfig(path: string | undefined, flags: Flags, action: Action): Promise<void> {
  const source = new ConfigSource({
    path,
    cwd: process.cwd(),
    env: process.env,
    readFile: readTrustedFile,
    overrides: flags,
    demo: { command: process.execPath, args: [fileURLToPath(new URL('./demo.js', import.meta.url))] },
  });
  let loaded: Loaded;
  try {
    loaded = source.load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.format()}\n`);
    process.exitCode = 1;
    return;
  }
  await action(loaded, source);
}
