/** `link`, `unlink` and `init`: files of clients, and a first file of our own. Their code is loaded when they run. */
import type { Command } from 'commander';
import type { InitFlags } from '../init/command.ts';
import type { LinkFlags } from '../link/command.ts';
import { configAt, configOption, output, repeated } from '../with-config.ts';

const clientHelp = 'claude-code, claude-desktop, cursor, vscode or codex';

export function registerLinking(program: Command): void {
  linking(program, 'link', 'add this gateway to the config of a client')
    .option('--url <url>', 'address of the gateway; default: where the config has it listen')
    .option('--key-env <name>', 'environment variable of the client with its access key')
    .option('--header <line>', `header for the gateway, such as "X-Team: \${TEAM}"; may be repeated`, repeated)
    .option('--stdio', 'have the client start the gateway itself, with the config')
    .option('--print', 'print the entry, and change nothing')
    .option(...configOption)
    .action(async (client: string, flags: LinkFlags & { readonly config?: string }) => {
      const { linkClient } = await import('../link/command.ts');
      process.exitCode = await linkClient(client, flags, { ...output, config: () => configAt(flags.config) });
    });
  program
    .command('init [mcp.json]')
    .description('make a commented bascule.yaml, from the file of a client or from nothing')
    .option('--out <path>', 'the file to make', 'bascule.yaml')
    .option('--secrets-file <path>', 'move what looks like a secret to this file, as variables of the environment')
    .action(async (path: string | undefined, flags: InitFlags) => {
      const { init } = await import('../init/command.ts');
      process.exitCode = init(path, flags, { ...output, cwd: process.cwd() });
    });
  linking(program, 'unlink', 'take the gateway out of the config of a client').action(
    async (client: string, flags: LinkFlags) => {
      const { unlinkClient } = await import('../link/command.ts');
      process.exitCode = await unlinkClient(client, flags, { ...output, config: () => configAt(undefined) });
    },
  );
}

function linking(program: Command, name: string, description: string): Command {
  return program
    .command(`${name} <client>`)
    .description(description)
    .addHelpText('after', `\nclient: ${clientHelp}`)
    .option('--name <name>', 'name of the gateway in that config', 'bascule')
    .option('--project', 'the file of the project in the working directory, not the one of the user');
}
