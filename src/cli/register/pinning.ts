/** `pins diff`, `pins verify` and `pins approve`. Their code is loaded when they run. */
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Approval, PinsCommand, PinsExit } from '../pins/command.ts';
import { configAt, configOption, output } from '../with-config.ts';

interface PinFlags {
  readonly config?: string;
  readonly json?: boolean;
}

interface ApprovingFlags extends PinFlags {
  readonly fingerprint?: string;
  readonly keepOld?: boolean;
}

export function registerPinning(program: Command): void {
  const pins = program.command('pins').description('compare what backends offer with what was approved');
  pins
    .command('diff')
    .description('show what differs from the pin file; exit code 1 if anything does, 2 if something cannot be read')
    .option('--json', 'print the differences as JSON')
    .option(...configOption)
    .action((flags: PinFlags) => differing(flags, false));
  pins
    .command('verify')
    .description('the same in a line for each difference, for CI')
    .option('--json', 'print the differences as JSON')
    .option(...configOption)
    .action((flags: PinFlags) => differing(flags, true));
  pins
    .command('approve [names...]')
    .description('write what backends offer to the pin file: everything, or `backend` and `backend/name`')
    .option('--fingerprint <text>', 'only if the differences are still those that `pins diff` has shown')
    .option('--keep-old', 'keep other forms of the same thing, for backends that show people different ones')
    .option(...configOption)
    .action((names: readonly string[], flags: ApprovingFlags) => approving(names, flags));
}

function differing(flags: PinFlags, isShort: boolean): Promise<void> {
  return withOffers(flags, async (command) => {
    const { showDifferences } = await import('../pins/command.ts');
    return showDifferences(command, { isJson: flags.json === true, isShort });
  });
}

function approving(names: readonly string[], { fingerprint: expected, keepOld = false, ...flags }: ApprovingFlags) {
  return withOffers(flags, async (command, { file }) => {
    const { approve } = await import('../pins/command.ts');
    const { exit, text }: Approval = approve(command, { names, expected, keepsOld: keepOld });
    if (text === undefined) return exit;
    const { replacePinFile } = await import('../pins/replace-file.ts');
    return replacePinFile(file, command.pins.content, text, output.remark) ? exit : 2;
  });
}

type Run = (command: PinsCommand, pins: NonNullable<Config['pins']>) => Promise<PinsExit>;

async function withOffers(flags: PinFlags, run: Run): Promise<void> {
  const config = await configAt(flags.config);
  if (config === undefined) return;
  const { pins } = config;
  if (pins === undefined) {
    output.remark('the config has no `pins`: add `pins: { file: pins.txt }`');
    process.exitCode = 2;
    return;
  }
  const { readOffers } = await import('../pins/read-offers.ts');
  const { digest } = await import('../../app/digest.ts');
  const read = await readOffers(config, output.remark);
  process.exitCode = await run({ ...read, pins, digest, ...output }, pins);
}
