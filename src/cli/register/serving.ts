/** `serve` and `stdio`: the commands that are the gateway. */
import type { Command } from 'commander';
import { lineageOf } from '../../app/lineage.ts';
import { printable } from '../../config/problems.ts';
import { serve } from '../serve.ts';
import { serveOverStdio } from '../stdio.ts';
import { type ConfigAction, withConfig } from '../with-config.ts';

interface ServingFlags {
  readonly host?: string;
  readonly port?: string;
  readonly openToNetwork?: boolean;
  readonly logLevel?: string;
  readonly logRequests?: boolean;
}

const configHelp =
  'bascule.yaml, or a client’s JSON file with mcpServers; default: the config file in the working directory, else the demo';

export function registerServing(program: Command): void {
  withFlags(program.command('serve [config]').description('serve over HTTP'))
    .option('--host <address>', 'address to listen on')
    .option('--port <port>', 'port to listen on; 0: any free port')
    .option('--open-to-network', 'allow listening on a network address without authentication')
    .action((path: string | undefined, flags: ServingFlags) => withConfig(path, flags, unlessStartedByItself(serve)));

  withFlags(program.command('stdio [config]').description('serve the client that started this process')).action(
    (path: string | undefined, flags: ServingFlags) => withConfig(path, flags, unlessStartedByItself(serveOverStdio)),
  );
}

function withFlags(command: Command): Command {
  return command
    .addHelpText('after', `\nconfig: ${configHelp}`)
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--log-requests', 'write a line to the log for each request');
}

function unlessStartedByItself(action: ConfigAction): ConfigAction {
  return async (loaded, source) => {
    const { refusal } = lineageOf(process.env, loaded.config.source);
    if (refusal === undefined) return action(loaded, source);
    process.stderr.write(`${printable(refusal)}\n`);
    process.exitCode = 1;
  };
}
