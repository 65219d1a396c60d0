/** Finds the config file. */
import { resolve } from 'node:path';
import { ConfigError } from './problems.ts';

/** In this order, in the working directory. Our own file can express more, so it comes first. */
const wellKnown = ['bascule.yaml', 'bascule.yml', '.mcp.json', 'mcp.json'] as const;

export interface ConfigPlaces {
  readonly cwd: string;
  /** Undefined if the file does not exist; throws if it cannot be read. */
  readonly readFile: (path: string) => string | undefined;
}

export interface FoundConfig {
  /** As named by the user, or as found. */
  readonly file: string;
  readonly text: string;
  readonly notices: readonly string[];
}

/** The file that the user named, or the first well-known one. Undefined if none was named and none exists. */
export function findConfig(path: string | undefined, sources: ConfigPlaces): FoundConfig | undefined {
  if (path !== undefined) {
    const text = textOf(path, sources);
    if (text === undefined) throw wholeFile(path, 'there is no such file');
    return { file: path, text, notices: [] };
  }
  const present = wellKnown.filter((name) => textOf(name, sources, 'or not') !== undefined);
  const [file, ...others] = present;
  if (file === undefined) return undefined;
  const notices = others.length === 0 ? [] : [`using ${file}; these files are ignored: ${others.join(', ')}`];
  return { file, text: textOf(file, sources) ?? '', notices };
}

/** `or not`: ignore read errors while only looking for the file. They are reported once it is the chosen one. */
function textOf(
  file: string,
  { cwd, readFile }: ConfigPlaces,
  certain: 'certain' | 'or not' = 'certain',
): string | undefined {
  try {
    // Remove a byte order mark, which would shift the columns of the first line.
    return readFile(resolve(cwd, file))?.replace(/^\ufeff/, '');
  } catch (error) {
    if (certain === 'or not') return '';
    throw wholeFile(file, `the file can't be read (${codeOf(error)})`);
  }
}

/** Only the code: the system's message repeats the path. */
function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown reason';
}

function wholeFile(file: string, message: string): ConfigError {
  return new ConfigError([{ file, line: 0, column: 0, message }]);
}
