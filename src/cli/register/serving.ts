/** `serve` and `stdio`: the commands that are the gateway. */
import type { Command } from 'commander';
import { lineageOf } from '../../app/lineage.ts';
import type { ConfigSource } from '../../app/reload/config-source.ts';
import { takeSeat } from '../../cluster/seat.ts';
import { isAddress } from '../../config/given-backend.ts';
import type { Loaded } from '../../config/load.ts';
import { onCommandLine } from '../../config/overrides.ts';
import { ConfigError, printable } from '../../config/problems.ts';
import { createWireTrace, type WireTrace } from '../../observe/wire-trace.ts';
import { serve } from '../serve.ts';
import { serveOverStdio } from '../stdio.ts';
import { type ConfigAction, type NamedConfig, orReport, repeated, withConfig } from '../with-config.ts';
import type { WorkerMember } from '../workers/member.ts';

interface ServingFlags {
  readonly host?: string;
  readonly port?: string;
  readonly openToNetwork?: boolean;
  readonly logLevel?: string;
  readonly logRequests?: boolean;
  readonly header?: readonly string[];
  readonly trace?: boolean;
  readonly workers?: string;
}

const configHelp = `
config: bascule.yaml, or a client’s JSON file with mcpServers; default: the config file in the working directory,
  else the demo
url: the http:// or https:// address of the only server behind the gateway
command: the program that is the only server behind the gateway, with its arguments`;

export function registerServing(program: Command): void {
  serving(program, 'serve', 'serve over HTTP')
    .option('--host <address>', 'address to listen on')
    .option('--port <port>', 'port to listen on; 0: any free port')
    .option('--workers <number>', 'processes that serve; auto: one for each core')
    .option('--open-to-network', 'allow listening on a network address without authentication')
    .action(start(serve, false));
  serving(program, 'stdio', 'serve the client that started this process').action(start(serveOverStdio, true));
}

function serving(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .argument('[config]')
    .argument('[command...]')
    .usage(`[options] [config | url]\n       bascule ${name} [options] -- <command> [args...]`)
    .addHelpText('after', configHelp)
    .option(
      '--header <line>',
      `header for the server at the URL, such as "Authorization: Bearer \${TOKEN}"; may be repeated`,
      repeated,
    )
    .option('--trace', 'print every message of clients and backends on stderr, with its arguments')
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--log-requests', 'write a line to the log for each request');
}

/** What serves, until a signal or its client ends it. */
type Serving = (
  loaded: Loaded,
  source: ConfigSource,
  wireTrace: WireTrace | undefined,
  member: WorkerMember | undefined,
) => Promise<void>;

function start(serving: Serving, overStdio: boolean) {
  return async (first: string | undefined, rest: readonly string[], flags: ServingFlags): Promise<void> => {
    const operands = first === undefined ? [] : [first, ...rest];
    const separator = process.argv.indexOf('--');
    const command = separator === -1 ? undefined : process.argv.slice(separator + 1);
    const before = operands.slice(0, operands.length - (command?.length ?? 0));
    const { header: headers, trace: isTraced, workers, ...overrides } = flags;
    const member = await joined();
    const named = orReport(() => namedBy(before, command, headers));
    if (named === undefined) return;
    const given = named.given && { ...named.given, overStdio };
    const wireTrace = isTraced === true ? createWireTrace(process.stderr) : undefined;
    const action = unlessStartedByItself(async (loaded, source) => {
      if (workers === undefined || member !== undefined) return serving(loaded, source, wireTrace, member);
      const { serveByWorkers, workerCount } = await import('../workers/primary.ts');
      const count = orReport(() => workerCount(workers, loaded.config));
      if (count === 1) await serving(loaded, source, wireTrace, undefined);
      else if (count !== undefined) await serveByWorkers(loaded, source, count);
    });
    await withConfig({ ...named, given }, overrides, action, member && ((source) => member.load(source)));
  };
}

/** Undefined where this process is not one of several workers. */
async function joined(): Promise<WorkerMember | undefined> {
  const seat = takeSeat(process.env);
  if (seat === undefined) return undefined;
  const { WorkerMember: Member } = await import('../workers/member.ts');
  return new Member(seat);
}

/** `operands`: what comes before `--`; `command`: what comes after it. */
function namedBy(
  [first, second]: readonly string[],
  command: readonly string[] | undefined,
  headers: readonly string[] | undefined,
): NamedConfig {
  if (second !== undefined) throw wrong('more than one config is named', 'one, or a command after `--`');
  if (command === undefined && first !== undefined && isAddress(first))
    return { given: { kind: 'url', words: [first], headers } };
  if (headers !== undefined) throw wrong('`--header` has no effect here', '`--header` only beside a URL');
  if (command === undefined) return { path: first };
  if (first !== undefined) throw wrong('both a config and a command are named', 'one of them');
  if (command.length === 0) throw wrong('there is no command after `--`', 'a program, such as `-- node server.mjs`');
  return { given: { kind: 'command', words: command } };
}

function wrong(message: string, expected: string): ConfigError {
  return new ConfigError([onCommandLine({ message, expected })]);
}

function unlessStartedByItself(action: ConfigAction): ConfigAction {
  return async (loaded, source) => {
    const { refusal } = lineageOf(process.env, loaded.config.source);
    if (refusal === undefined) return action(loaded, source);
    process.stderr.write(`${printable(refusal)}\n`);
    process.exitCode = 1;
  };
}
