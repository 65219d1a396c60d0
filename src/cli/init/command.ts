/** `bascule init`: a first `bascule.yaml`, from the file of a client or from nothing. It overwrites nothing. */
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readTrustedFile, UnsafeFileError } from '../../app/trusted-file.ts';
import { ConfigError } from '../../config/problems.ts';
import { type FoundSecret, withoutSecrets } from './secrets.ts';
import { type InitialServer, serversOf } from './servers.ts';
import { yamlText } from './yaml-text.ts';

export interface InitFlags {
  readonly out: string;
  readonly secretsFile?: string;
}

export interface InitCommand {
  readonly cwd: string;
  /** Results, for people and for scripts. */
  readonly say: (text: string) => void;
  /** Everything else, for people. */
  readonly remark: (text: string) => void;
}

/** The file with secrets is for its owner alone. */
const SECRET_MODE = 0o600;
const PLAIN_MODE = 0o644;

/** Returns the exit code. */
export function init(named: string | undefined, flags: InitFlags, command: InitCommand): number {
  try {
    write(named ?? ['.mcp.json', 'mcp.json'].find((name) => existsSync(resolve(command.cwd, name))), flags, command);
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) command.remark(error.format());
    else if (error instanceof InitError) command.remark(error.message);
    else throw error;
    return 1;
  }
}

class InitError extends Error {
  override readonly name = 'InitError';
}

function write(from: string | undefined, { out, secretsFile }: InitFlags, { cwd, say, remark }: InitCommand): void {
  for (const file of [out, ...(secretsFile === undefined ? [] : [secretsFile])])
    if (existsSync(resolve(cwd, file))) throw new InitError(`${file}: it is there already, and is not overwritten`);
  const given = from === undefined ? [] : serversOf(from, textOf(resolve(cwd, from), from), cwd);
  const { servers, secrets } = withoutSecrets(given);
  const isMoved = secretsFile !== undefined && secrets.length > 0;
  const text = yamlText(isMoved ? servers : given, from);
  const hasSecrets = secrets.length > 0 && !isMoved;
  // The secrets first: a config whose variables are nowhere would be worse than none.
  if (isMoved) create(resolve(cwd, secretsFile), envText(secrets), SECRET_MODE);
  create(resolve(cwd, out), text, hasSecrets ? SECRET_MODE : PLAIN_MODE);
  say(`wrote ${out}${from === undefined ? '' : ` from ${from}`}: ${given.length} backends`);
  for (const name of variablesIn(given)) remark(`needs the environment variable ${name}`);
  for (const { where, variable } of secrets)
    remark(
      isMoved
        ? `${where}: moved to ${variable} in ${secretsFile}`
        : `warning: ${where} looks like a secret, and ${out} has it as text; --secrets-file moves it to a file of its own`,
    );
  if (isMoved) remark(`load it before the start: set -a; . ./${secretsFile}; set +a`);
}

function textOf(path: string, shown: string): string {
  try {
    const text = readTrustedFile(path);
    if (text === undefined) throw new InitError(`${shown}: there is no such file`);
    return text.replace(/^\ufeff/, '');
  } catch (error) {
    if (error instanceof InitError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new InitError(
      `${shown}: ${error instanceof UnsafeFileError ? `it is ${code}` : `it cannot be read (${code})`}`,
    );
  }
}

function create(path: string, text: string, mode: number): void {
  try {
    writeFileSync(path, text, { mode, flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new InitError(`${path}: it cannot be written (${code})`);
  }
}

/** For a shell, systemd and Docker alike where the value is plain. */
function envText(secrets: readonly FoundSecret[]): string {
  const quoted = (value: string) =>
    /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
  return secrets.map(({ variable, value }) => `${variable}=${quoted(value)}\n`).join('');
}

function variablesIn(servers: readonly InitialServer[]): Set<string> {
  const text = JSON.stringify(servers.map(({ settings }) => settings));
  return new Set([...text.matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name));
}
