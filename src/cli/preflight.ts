/**
 * What a config needs on this machine: commands, directories, users, key files. `bascule config check` only warns of
 * what is missing, because the config may be right on a different machine. Nothing is started and nothing is written.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { keyWarning, readPair } from '../app/certificate-files.ts';
import { readTrustedFile, UnsafeFileError } from '../app/trusted-file.ts';
import type { Config, ListenTls, StdioBackendConfig } from '../config/config.ts';
import { readKeyFile } from '../identity/key-file.ts';
import { ListFileError } from '../identity/list-file.ts';
import { readUserFile } from '../oauth/server/user-file.ts';
import { childEnvironment, findAccount } from '../upstream/stdio/environment.ts';
import { caProblems } from './proxy-command.ts';

type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** One sentence for each problem: what is wrong, and what to do. */
export function missingHere(config: Config, env: EnvironmentVariables = process.env): string[] {
  const { audit, authServer, backends, identity, store } = config;
  const processes = backends.filter((backend): backend is StdioBackendConfig => backend.kind === 'stdio');
  const keeps = authServer !== undefined || backends.some((it) => it.kind === 'http' && it.auth?.implied === false);
  return [
    ...fileProblems(identity.keyFile, listFiles.keys),
    ...fileProblems(authServer?.userFile, listFiles.users),
    ...processes.flatMap((backend) => commandProblems(backend, env)),
    ...(keeps && store.url === undefined ? directoryProblems(store.dir) : []),
    ...(audit?.to.kind === 'file' ? auditProblems(audit.to.path) : []),
    ...caProblems(config),
    ...tlsProblems(config.listen.tls),
  ];
}

/** Of backends in sandboxes. Starts bubblewrap for a moment, which alone tells whether it works here. */
export async function sandboxProblems(
  { backends }: Config,
  { PATH = '' }: EnvironmentVariables = process.env,
): Promise<string[]> {
  const boxed = backends.flatMap((it) =>
    it.kind === 'stdio' && it.sandbox !== undefined ? [{ ...it, box: it.sandbox }] : [],
  );
  if (boxed.length === 0) return [];
  const { incapable } = await import('../upstream/stdio/sandbox/machine.ts');
  const problems = boxed.map(async ({ name, box, user }) => {
    const reason = await incapable(box, PATH, user);
    const missing = [...box.read, ...box.write].filter((path) => !existsSync(path));
    return [
      ...(reason === undefined ? [] : [`backend \`${name}\` has no sandbox here: ${reason.why}; ${reason.cure}`]),
      ...missing.map((path) => `backend \`${name}\`: there is no ${path}, which its sandbox shows`),
    ];
  });
  return (await Promise.all(problems)).flat();
}

/** `cure` creates the file; `until` says what is refused before the file can be read. */
const listFiles = {
  keys: {
    what: 'key file',
    read: readKeyFile,
    cure: 'create the first key with `bascule key new <name>`',
    until: 'no key is accepted',
  },
  users: {
    what: 'user file',
    read: readUserFile,
    cure: 'add the first user with `bascule user add <name>`',
    until: 'no user can sign in',
  },
} as const;

type ListFileRow = (typeof listFiles)[keyof typeof listFiles];

function fileProblems(file: string | undefined, { what, read, cure, until }: ListFileRow): string[] {
  if (file === undefined) return [];
  const broken = (why: string) => [`${what} ${file}: ${why}; until then ${until}`];
  try {
    const text = readTrustedFile(file);
    if (text === undefined) return [`there is no ${what} ${file} yet: ${cure}`];
    read(text);
    return [];
  } catch (error) {
    if (error instanceof ListFileError) return broken(error.message);
    return broken(error instanceof UnsafeFileError ? `it is ${error.code}` : `it cannot be read (${codeOf(error)})`);
  }
}

function commandProblems(
  { name, command, cwd, env: own, user }: StdioBackendConfig,
  env: EnvironmentVariables,
): string[] {
  const problems: string[] = [];
  const say = (text: string) => problems.push(`backend \`${name}\`: ${text}`);
  const account = user === undefined ? undefined : findAccount(user);
  if (user !== undefined && account === undefined) say(`this machine has no user ${user}`);
  if (account !== undefined && process.getuid?.() !== 0 && account.uid !== process.getuid?.())
    say(`only root can start processes as another user; start the gateway as root, or remove \`user: ${user}\``);
  if (cwd !== undefined && !isDirectory(cwd)) say(`\`cwd\` ${cwd} is not a directory`);
  const path = childEnvironment(env, own, process.platform).PATH ?? '';
  const problem = findCommand(command, path, cwd ?? process.cwd());
  if (problem !== undefined) say(problem);
  return problems;
}

/** Undefined where the command can be run. */
function findCommand(command: string, path: string, cwd: string): string | undefined {
  const hasPath = isAbsolute(command) || command.includes('/') || command.includes(sep);
  const places = hasPath ? [resolve(cwd, command)] : path.split(delimiter).map((dir) => join(dir, command));
  const endings = process.platform === 'win32' ? ['', '.exe', '.cmd', '.bat', '.com'] : [''];
  const files = places.flatMap((place) => endings.map((ending) => `${place}${ending}`)).filter(isFile);
  if (files.some((file) => hasAccess(file, constants.X_OK))) return undefined;
  if (files.length > 0) return `${files[0]} is not executable: make it executable with chmod +x`;
  const [first = '', ...rest] = command.trim().split(/\s+/);
  if (rest.length > 0)
    return `there is no program named "${command}": if it is a command line, write \`command: ${first}\` and put the rest into \`args\``;
  return hasPath
    ? `there is no program ${command}`
    : `the command ${command} is not on the PATH: install it, or name its file with the full path`;
}

/** The nearest existing directory decides: the directories below it are created at start. */
function nearestOf(path: string): string {
  let nearest = path;
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  return nearest;
}

/** A missing file is created; its directory is not. */
function auditProblems(file: string): string[] {
  const cure = 'records would be lost; name a file that this user may write';
  const place = existsSync(file) ? file : dirname(file);
  if (isDirectory(file)) return [`\`audit.to\` ${file} is a directory: ${cure}`];
  if (!existsSync(place)) return [`\`audit.to\` ${file}: there is no directory ${place}; ${cure}`];
  return isWritable(place) ? [] : [`\`audit.to\` ${file}: ${place} cannot be written; ${cure}`];
}

function directoryProblems(dir: string): string[] {
  const nearest = nearestOf(dir);
  const wrong = isDirectory(nearest) ? (isWritable(nearest) ? undefined : 'cannot be written') : 'is not a directory';
  return wrong === undefined
    ? []
    : [`\`store.dir\` ${dir}: ${nearest} ${wrong}; name a directory that this user may write`];
}

function tlsProblems(tls: ListenTls | undefined): string[] {
  if (tls === undefined) return [];
  const warning = keyWarning(tls);
  const others = warning === undefined ? [] : [warning];
  try {
    const { until } = readPair(tls);
    if (until > Date.now()) return others;
    return [...others, `the certificate ${tls.cert} of \`listen.tls\` expired at ${new Date(until).toISOString()}`];
  } catch (error) {
    if (!(error instanceof ListFileError)) throw error;
    return [...others, `\`listen.tls\`: ${error.message}`];
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isWritable(path: string): boolean {
  return hasAccess(path, constants.W_OK);
}

function hasAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
