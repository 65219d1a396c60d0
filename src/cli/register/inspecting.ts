/** `bascule doctor` and `bascule check` on the command line. What they do is loaded only when one of them is used. */
import type { Command } from 'commander';
import type { InspectionFlags } from '../inspection-options.ts';

const targetHelp = `
target: the URL of a server, or a command that starts a stdio server, after \`--\`:
  https://example.com/mcp
  -- npx -y @modelcontextprotocol/server-everything stdio`;

export function registerInspecting(program: Command): void {
  withShared(program.command('doctor <target...>').description('say which step of connecting to a server fails'))
    .option('--register', 'register a client (RFC 7591), where the server demands authorization')
    .option('--login', 'sign in with a browser; needs a client: --register or --client-id')
    .option('--client-id <id>', 'a client id that the authorization server knows, or a metadata document’s URL')
    .action(async (target: string[], flags: InspectionFlags) => {
      const { doctor } = await import('../doctor-command.ts');
      process.exitCode = await doctor(target, flags);
    });
  withShared(program.command('check <target...>').description('report which rules of the protocol a server breaks'))
    .option('--strict', 'fail for recommendations (SHOULD) as well')
    .action(async (target: string[], flags: InspectionFlags) => {
      const { check } = await import('../check-command.ts');
      process.exitCode = await check(target, flags);
    });
}

function withShared(command: Command): Command {
  return command
    .addHelpText('after', targetHelp)
    .option('--era <era>', 'legacy, modern or both', 'both')
    .option('--header <header>', 'a header for every request, `Name: value`; never printed', collect, [])
    .option('--call <tool...>', 'call this tool, with arguments as JSON; no tool is called otherwise')
    .option('--timeout <time>', 'time limit of each answer', '10s')
    .option('--json', 'print one JSON document');
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
