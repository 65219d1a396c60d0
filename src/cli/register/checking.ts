/** `config check`, `policy check` and `policy test`: what a file means, before it is in force. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readTrustedFile } from '../../app/trusted-file.ts';
import type { Config } from '../../config/config.ts';
import { describeConfig } from '../../config/describe.ts';
import { printable } from '../../config/problems.ts';
import { knownCallers } from '../known-callers.ts';
import { checkPolicy, type PolicyCommand, remarksOf, testPolicy } from '../policy-command.ts';
import { missingHere, sandboxProblems } from '../preflight.ts';
import { configAt, configOption, output, withConfig } from '../with-config.ts';

export function registerChecking(program: Command): void {
  program
    .command('config')
    .description('check a config without serving it')
    .command('check [config]')
    .description('report its problems, or describe what it means')
    .action((path: string | undefined) =>
      withConfig({ path }, {}, async ({ config, notices }) => {
        for (const notice of notices) process.stdout.write(`note: ${notice}\n`);
        const { policy } = config;
        const { places, callers } = reviewed(config);
        const remarks = policy === undefined ? [] : remarksOf(policy, places, callers);
        const missing = [...missingHere(config), ...(await sandboxProblems(config))];
        for (const problem of [...missing, ...remarks.map(({ rule, text }) => `rule \`${rule}\` ${text}`)])
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
  policyCommand
    .command('rehearse <config>')
    .description('decide recorded requests by another config; exit code 1 if a decision changes')
    .option('--since <time>', 'how far back, such as 24h or 7d', '24h')
    .option('--config <path>', 'the config that is in force, which says where requests are recorded')
    .option('--recording <path>', 'the recording, in place of the one of a config')
    .option('--json', 'print the changes as JSON')
    .action(rehearsing);
}

interface RehearseFlags {
  readonly since: string;
  readonly config?: string;
  readonly recording?: string;
  readonly json?: boolean;
}

async function rehearsing(next: string, { since, config, recording, json }: RehearseFlags): Promise<void> {
  const after = await configAt(next);
  const kept = recording === undefined ? (await configAt(config ?? next))?.rehearsal : { path: resolve(recording) };
  if (after === undefined) return;
  if (kept === undefined) {
    output.remark('nothing is recorded: add `rehearsal: { file: rehearsal.jsonl }` to the config that is in force');
    process.exitCode = 2;
    return;
  }
  const { rehearsePolicy } = await import('../rehearse-command.ts');
  const asked = { next: after, recording: kept, since, isJson: json === true, now: Date.now() };
  process.exitCode = rehearsePolicy({ ...asked, ...output });
}

/** The parts of a config that rules are checked against. */
function reviewed(config: Config) {
  return {
    places: Object.fromEntries(config.endpoints.map((endpoint) => [endpoint.path, endpoint.backends])),
    callers: knownCallers(config),
  };
}

async function withPolicy(path: string | undefined, run: (command: PolicyCommand) => number): Promise<void> {
  await withConfig({ path }, {}, async ({ config }) => {
    const say = (text: string) => void process.stdout.write(`${text}\n`);
    process.exitCode = run({ policy: config.policy, ...reviewed(config), say });
  });
}
