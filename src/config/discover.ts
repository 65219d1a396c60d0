/** Which file is the config? */
import { resolve } from 'node:path';
import { ConfigError } from './problems.ts';

/** In this order, in the working directory. Our own file says more, so it comes first. */
const wellKnown = ['bascule.yaml', 'bascule.yml', '.mcp.json', 'mcp.json'] as const;

export interface ConfigPlaces {
  readonly cwd: string;
  /** Undefined where there is no such file; throws where there is one that can't be read. */
  readonly readFile: (path: string) => string | undefined;
}

export interface FoundConfig {
  /** As named by the user, or as found. */
  readonly file: string;
  readonly text: string;
  readonly notices: readonly string[];
}

/** The file that the user named, or the first well-known one; undefined where nothing was named and nothing is there. */
export function findConfig(path: string | undefined, sources: ConfigPlaces): FoundConfig | undefined {
  if (path !== undefined) {
    const text = textOf(path, sources);
    if (text === undefined) throw wholeFile(path, 'there is no such file');
    return { file: path, text, notices: [] };
  }
  const present = wellKnown.filter((name) => textOf(name, sources, 'or not') !== undefined);
  const [file, ...others] = present;
  if (file === undefined) return undefined;
  const notices = others.length === 0 ? [] : [`using ${file}; also here and ignored: ${others.join(', ')}`];
  return { file, text: textOf(file, sources) ?? '', notices };
}

/** `or not`: a file that is only looked for may be unreadable; that is said when it turns out to be the one. */
function textOf(
  file: string,
  { cwd, readFile }: ConfigPlaces,
  certain: 'certain' | 'or not' = 'certain',
): string | undefined {
  try {
    // A byte order mark is no part of the text, and would shift the first line's columns.
    return readFile(resolve(cwd, file))?.replace(/^\ufeff/, '');
  } catch (error) {
    if (certain === 'or not') return '';
    throw wholeFile(file, `the file can't be read (${codeOf(error)})`);
  }
}

/** Messages of the file system repeat the path; the code says what is wrong. */
function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown reason';
}

function wholeFile(file: string, message: string): ConfigError {
  return new ConfigError([{ file, line: 0, column: 0, message }]);
}
