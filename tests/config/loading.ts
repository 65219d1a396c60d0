/** Loads configs from text, as a test wants them. */
import type { Config } from '../../src/config/config.ts';
import { type LoadOptions, loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export function load(text: string, file = 'bascule.yaml', env: Env = {}, more: Partial<LoadOptions> = {}) {
  return loadConfig({ path: file, cwd: '/project', env, readFile: () => text, ...more });
}

export function configOf(text: string, file?: string, env?: Env): Config {
  return load(text, file, env).config;
}

export function errorOf(attempt: () => unknown): ConfigError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('this config was accepted');
}

/** What a person would see. */
export function complaintsAbout(text: string, file?: string, env?: Env): string {
  return errorOf(() => load(text, file, env)).format();
}
