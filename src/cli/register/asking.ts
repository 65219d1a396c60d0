/** `status`, `tools`, `call` and `health`: questions to a gateway that runs. Their code is loaded when they run. */
import type { Command } from 'commander';
import type { AskCommand, ToolsWish } from '../control/ask-command.ts';
import type { AskFlags } from '../control/client.ts';
import type { HealthFlags } from '../health-command.ts';
import { configAt, configOption, output } from '../with-config.ts';

export function registerAsking(program: Command): void {
  asking(
    program.command('status').description('show a running gateway: its endpoints, backends and their states'),
  ).action((flags: AskFlags) => asked(flags, async (command) => (await commands()).showStatus(command)));
  asking(program.command('tools').description('list the tools of a running gateway'))
    .option('--as <who>', 'as this caller sees them; default: as you do')
    .option('--endpoint <path>', 'at this endpoint; default: the first one')
    .option('--cost', 'with the tokens that each needs in a list')
    .action((flags: AskFlags & ToolsWish) =>
      asked(flags, async (command) => (await commands()).showTools(command, flags)),
    );
  asking(program.command('call <tool> [json]').description('call a tool of a running gateway, with arguments as JSON'))
    .option('--endpoint <path>', 'at this endpoint; default: the first one')
    .action((tool: string, json: string | undefined, flags: AskFlags & { readonly endpoint?: string }) =>
      asked(flags, async (command) =>
        (await commands()).callTool(command, { tool, arguments: json, endpoint: flags.endpoint }),
      ),
    );
  program
    .command('health')
    .description('for the health check of a container: exit code 0 if a running gateway answers, else 1')
    .option(...configOption)
    .option('--socket <path>', 'control socket of the gateway; default: the one of the config')
    .option('--url <url>', 'ask over HTTP: an address such as http://127.0.0.1:8808/readyz; default path: /healthz')
    .action(async (flags: HealthFlags) => {
      const { health } = await import('../health-command.ts');
      // A question that got no answer in time may still wait for one.
      process.exit(await health(flags));
    });
}

function asking(command: Command): Command {
  return command
    .option(...configOption)
    .option('--socket <path>', 'control socket of the gateway; default: the one of the config')
    .option('--url <url>', 'address of a console API, such as https://gateway.example/console/api')
    .option('--key-env <name>', 'environment variable with the access key for --url')
    .option('--json', 'print the answer as JSON');
}

function commands() {
  return import('../control/ask-command.ts');
}

async function asked(flags: AskFlags, run: (command: AskCommand) => Promise<number>): Promise<void> {
  const { askerFor } = await import('../control/client.ts');
  const { ControlError } = await import('../control/socket-path.ts');
  try {
    const ask = await askerFor(flags, () => configAt(flags.config), output.remark);
    const isLocal = flags.url === undefined;
    if (ask !== undefined) process.exitCode = await run({ ask, say: output.say, isJson: flags.json === true, isLocal });
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.remark(error.message);
    process.exitCode = 1;
  }
}
