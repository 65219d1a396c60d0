/** `bascule link` and `bascule unlink`: which file, which entry, and what to say about it. */
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { nearest } from '../../config/nearest.ts';
import { headerToken, httpAddress } from '../../config/shapes.ts';
import { type ClientRow, clients, type LinkHeader } from './clients.ts';
import { type ClientEntry, LinkError } from './entry-file.ts';
import { type LinkTarget, link, unlink } from './link.ts';

export interface LinkFlags {
  readonly name: string;
  readonly project?: boolean;
  readonly print?: boolean;
  readonly url?: string;
  readonly keyEnv?: string;
  readonly header?: readonly string[];
  readonly stdio?: boolean;
}

export interface LinkCommand {
  /** Results, for people and for scripts. */
  readonly say: (text: string) => void;
  /** Everything else, for people. */
  readonly remark: (text: string) => void;
  /** The config that `--stdio` serves, and that says where the gateway listens. Undefined where it cannot be read. */
  readonly config: () => Promise<Config | undefined>;
}

/** Returns the exit code. */
export async function linkClient(client: string, flags: LinkFlags, command: LinkCommand): Promise<number> {
  return reported(command, client, flags, async (row, target) => {
    const entry = await entryFor(row, flags, command);
    if (entry === undefined) return 1;
    if (flags.print === true) {
      command.say(row.format.add(undefined, target.place, entry).trimEnd());
      command.remark(`for ${row.title}: ${target.file}`);
      return 0;
    }
    if (flags.project !== true && !existsSync(dirname(target.file)))
      throw new LinkError(`there is no ${dirname(target.file)}: start ${row.title} once, or use --project or --print`);
    const { outcome, copy } = link(target, entry);
    if (outcome === 'same') command.say(`${target.file} has it already`);
    else command.say(`${outcome} \`${flags.name}\` in ${target.file}`);
    if (copy !== undefined && outcome !== 'same') command.remark(`the file from before: ${copy}`);
    command.remark(row.afterwards);
    return 0;
  });
}

export async function unlinkClient(client: string, flags: LinkFlags, command: LinkCommand): Promise<number> {
  return reported(command, client, flags, async (row, target) => {
    const isRemoved = unlink(target) === 'removed';
    command.say(
      isRemoved ? `removed \`${flags.name}\` from ${target.file}` : `${target.file} has no \`${flags.name}\``,
    );
    if (isRemoved) command.remark(row.afterwards);
    return 0;
  });
}

async function reported(
  { remark }: LinkCommand,
  client: string,
  flags: LinkFlags,
  action: (row: ClientRow, target: LinkTarget) => Promise<number>,
): Promise<number> {
  let file = '';
  try {
    const row = rowOf(client);
    file = fileOf(row, flags);
    return await action(row, { file, format: row.format, place: { container: row.container, name: nameOf(flags) } });
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    remark(file === '' ? error.message : `${file}: ${error.message}`);
    return 1;
  }
}

function rowOf(client: string): ClientRow {
  const row = Object.hasOwn(clients, client) ? clients[client] : undefined;
  if (row !== undefined) return row;
  const names = Object.keys(clients);
  const close = nearest(client, names);
  const hint = close === undefined ? '' : ` Did you mean \`${close}\`?`;
  throw new LinkError(`no client is named \`${client}\`; there are: ${names.join(', ')}.${hint}`);
}

function fileOf(row: ClientRow, { project }: LinkFlags): string {
  if (project !== true) return row.file({ home: homedir(), env: process.env, platform: process.platform });
  if (row.projectFile === undefined) throw new LinkError(`${row.title} has no file for a project: leave --project out`);
  return resolve(row.projectFile);
}

/** What every client accepts as the name of a server. */
function nameOf({ name }: LinkFlags): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name;
  throw new LinkError(`\`${name}\` can't be a name: up to 64 letters, digits, dashes and underscores`);
}

async function entryFor(row: ClientRow, flags: LinkFlags, command: LinkCommand): Promise<ClientEntry | undefined> {
  const headers = headersOf(flags);
  // The same Node and the same program: a client that a desktop starts does not have the PATH of a shell.
  const program = realpathSync(process.argv[1] ?? '');
  if (flags.stdio === true) {
    if (flags.url !== undefined || headers.length > 0)
      throw new LinkError(
        '--stdio serves the config itself, so --url, --key-env and --header have no effect beside it',
      );
    const config = await command.config();
    return config && row.stdio(process.execPath, [program, 'stdio', ...sourceOf(config)]);
  }
  const url = flags.url ?? addressOf(await command.config(), headers, command);
  if (url === undefined) return undefined;
  if (!httpAddress.safeParse(url).success) throw new LinkError('--url must be an http:// or https:// address');
  if (row.http !== undefined) return row.http(url, headers);
  const lines = headers.flatMap(({ name, value }) => ['--header', `${name}: ${value}`]);
  return row.stdio(process.execPath, [program, 'stdio', url, ...lines]);
}

function sourceOf({ source }: Config): string[] {
  return source === 'demo' ? [] : [resolve(source)];
}

function addressOf(config: Config | undefined, headers: readonly LinkHeader[], { remark }: LinkCommand) {
  const endpoint = config?.endpoints.find(({ protocol }) => protocol === undefined);
  if (config === undefined || endpoint === undefined) return undefined;
  const { host, port, socket, tls } = config.listen;
  if (socket !== undefined && config.identity.publicUrl === undefined)
    throw new LinkError('this gateway listens on a Unix socket, which clients cannot use: name an address with --url');
  if (endpoint.identity.kind === 'guarded' && endpoint.identity.keys && headers.length === 0)
    remark('this gateway takes access keys: name the variable that has one with --key-env');
  const local = `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `${config.identity.publicUrl ?? local}${endpoint.path}`;
}

function headersOf({ keyEnv, header = [] }: LinkFlags): LinkHeader[] {
  if (keyEnv !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(keyEnv))
    throw new LinkError('--key-env takes the name of an environment variable, never the key itself');
  const key = keyEnv === undefined ? [] : [{ name: 'Authorization', value: `Bearer \${${keyEnv}}` }];
  const others = header.map((line) => {
    const at = line.indexOf(':');
    const name = line.slice(0, Math.max(at, 0)).trim();
    if (!headerToken.test(name)) throw new LinkError('--header takes a name, a colon and a value');
    return { name, value: line.slice(at + 1).trim() };
  });
  return [...key, ...others];
}
