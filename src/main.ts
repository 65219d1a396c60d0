/** The command line: read the config, start, stop. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { about } from './about.ts';
import { describeConfig } from './config/describe.ts';
import { type Loaded, loadConfig } from './config/load.ts';
import { ConfigError } from './config/problems.ts';
import { serve } from './serve.ts';
import { serveOverStdio } from './stdio.ts';

interface Flags {
  readonly host?: string;
  readonly port?: string;
  readonly openToNetwork?: boolean;
  readonly logLevel?: string;
}

const program = new Command(about.name)
  .description('An MCP gateway: any client revision in, any server revision out.')
  .version(about.version);

const configHelp =
  'bascule.yaml or an mcpServers JSON; without it the working directory is searched, then the demo is served';

withFlags(program.command('serve [config]').description('serve over HTTP'))
  .option('--host <address>', 'address to listen on')
  .option('--port <port>', 'port to listen on; 0 chooses one')
  .option('--open-to-network', 'listen on an address that others can reach, although nobody is asked who they are')
  .action((path: string | undefined, flags: Flags) => withConfig(path, flags, serve));

withFlags(program.command('stdio [config]').description('serve the client that started this process')).action(
  (path: string | undefined, flags: Flags) => withConfig(path, flags, serveOverStdio),
);

const configCommand = program.command('config').description('look at a config without serving it');
configCommand
  .command('check [config]')
  .description('say what is wrong with it, or what it was understood to mean')
  .action((path: string | undefined) =>
    withConfig(path, {}, async ({ config, notices }) => {
      for (const notice of notices) process.stdout.write(`note: ${notice}\n`);
      process.stdout.write(`${describeConfig(config)}\n`);
    }),
  );

await program.parseAsync();

function withFlags(command: Command): Command {
  return command
    .addHelpText('after', `\nconfig: ${configHelp}`)
    .option('--log-level <level>', 'debug, info, warn or error');
}

async function withConfig(
  path: string | undefined,
  flags: Flags,
  action: (loaded: Loaded) => Promise<void>,
): Promise<void> {
  let loaded: Loaded;
  try {
    loaded = loadConfig({
      path,
      cwd: process.cwd(),
      env: process.env,
      readFile,
      overrides: flags,
      demo: { command: process.execPath, args: [fileURLToPath(new URL('./demo.js', import.meta.url))] },
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.format()}\n`);
    process.exitCode = 1;
    return;
  }
  await action(loaded);
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
