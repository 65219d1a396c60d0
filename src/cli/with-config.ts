/** Reads the config that a command line names, for the commands that need one. */
import { fileURLToPath } from 'node:url';
import { ConfigSource } from '../app/reload/config-source.ts';
import { readTrustedFile } from '../app/trusted-file.ts';
import type { Loaded } from '../config/load.ts';
import type { Overrides } from '../config/overrides.ts';
import { ConfigError } from '../config/problems.ts';

/** Every command that reads a config, and takes none as an argument, has it. */
export const configOption = [
  '--config <path>',
  'bascule.yaml; default: the config file in the working directory',
] as const;

export type ConfigAction = (loaded: Loaded, source: ConfigSource) => Promise<void>;

/** A config that is wrong is reported, and the command ends with exit code 1. */
export async function withConfig(path: string | undefined, overrides: Overrides, action: ConfigAction): Promise<void> {
  const source = new ConfigSource({
    path,
    cwd: process.cwd(),
    env: process.env,
    readFile: readTrustedFile,
    overrides,
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
