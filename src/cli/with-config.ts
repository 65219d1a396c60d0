/** Reads the config that a command line names, for the commands that need one. */
import { fileURLToPath } from 'node:url';
import { realPath } from '../app/real-path.ts';
import { ConfigSource } from '../app/reload/config-source.ts';
import { readTrustedFile } from '../app/trusted-file.ts';
import type { Config } from '../config/config.ts';
import type { GivenBackend } from '../config/given-backend.ts';
import type { Loaded } from '../config/load.ts';
import type { Overrides } from '../config/overrides.ts';
import { ConfigError } from '../config/problems.ts';

/** Every command that reads a config, and takes none as an argument, has it. */
export const configOption = [
  '--config <path>',
  'bascule.yaml; default: the config file in the working directory',
] as const;

/** For options that may be given several times. */
export function repeated(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** A file, or a backend in its place. Neither: the file that is found in the working directory. */
export interface NamedConfig {
  readonly path?: string | undefined;
  readonly given?: GivenBackend | undefined;
}

export type ConfigAction = (loaded: Loaded, source: ConfigSource) => Promise<void>;

/** `load`: in place of reading the files. */
export async function withConfig(
  named: NamedConfig,
  overrides: Overrides,
  action: ConfigAction,
  load: (source: ConfigSource) => Loaded | Promise<Loaded> = (source) => source.load(),
): Promise<void> {
  const source = new ConfigSource({
    ...named,
    cwd: process.cwd(),
    env: process.env,
    readFile: readTrustedFile,
    realPath,
    overrides,
    demo: { command: process.execPath, args: [fileURLToPath(new URL('./demo.js', import.meta.url))] },
  });
  const loaded = await Promise.resolve(orReport(() => load(source))).catch(report);
  if (loaded !== undefined) await action(loaded, source);
}

/** Reports a wrong config, or a wrong command line, and has the command end with exit code 1. */
export function orReport<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): undefined {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.format()}\n`);
  process.exitCode = 1;
}

/** The config alone. Undefined: it is wrong, and was reported. */
export async function configAt(path: string | undefined): Promise<Config | undefined> {
  let found: Config | undefined;
  await withConfig({ path }, {}, async ({ config }) => {
    found = config;
  });
  return found;
}

/** `say`: results, for people and for scripts. `remark`: everything else, for people. */
export const output = {
  say: (text: string) => void process.stdout.write(`${text}\n`),
  remark: (text: string) => void process.stderr.write(`${text}\n`),
};
