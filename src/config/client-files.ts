/**
 * Reads the files of MCP clients as they are: `mcpServers` (Claude Code, Claude Desktop, Cursor, Windsurf, Cline,
 * Gemini CLI and others) and `servers` (VS Code). Other members belong to the client and are ignored. Inside an entry,
 * the keys of the list below are known but not used; any other unknown key is refused.
 */
import { basename, dirname, sep } from 'node:path';
import type { BackendAuth } from '../oauth/client/settings.ts';
import { type BackendDraft, buildBackend, checkHeaders, isDisabled, kindOf } from './backends.ts';
import type { ConfigReading } from './bascule-yaml.ts';
import type { BackendConfig, HttpTransport } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { defaultLimits } from './limits.ts';
import { nearest } from './nearest.ts';
import * as shape from './shapes.ts';

/**
 * Keys of other programs. The text is a notice at start-up, for keys whose absence changes what the server does or
 * offers.
 */
const toleratedKeys: Readonly<Record<string, string | undefined>> = {
  // How a client treats its user: not relevant for a gateway.
  alwaysAllow: undefined,
  alwaysLoad: undefined,
  autoApprove: undefined,
  description: undefined,
  dev: undefined,
  gallery: undefined,
  icon: undefined,
  name: undefined,
  trust: undefined,
  version: undefined,
  // Seconds in one client, milliseconds in another.
  timeout: 'time limits are set under `limits` in bascule.yaml',
  watchPaths: 'the server is not restarted when files change',
  envFile: 'the file is not read, so its variables are missing unless the gateway’s environment has them',
  sandboxEnabled: 'the server runs without a sandbox',
  tools: 'every tool of the server is offered',
  includeTools: 'every tool of the server is offered',
  excludeTools: 'every tool of the server is offered',
  disabledTools: 'every tool of the server is offered',
  auth: 'only `headers` are sent',
  authProviderType: 'only `headers` are sent',
  headersHelper: 'only `headers` are sent',
  oauth: 'only `headers` are sent',
};

/** Clients' names for the transports. */
const kinds: Readonly<Record<string, 'stdio' | HttpTransport>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'streamable-http',
  'streamable-http': 'streamable-http',
  streamableHttp: 'streamable-http',
  sse: 'sse',
};
const kindKeys = ['type', 'transport', 'transportType'] as const;
/** Windsurf's and Gemini CLI's names for `url`. */
const addressKeys = ['url', 'serverUrl', 'httpUrl'] as const;

const kindShape = shape.choice(Object.keys(kinds) as [string, ...string[]]).exactOptional();
const address = shape.httpAddress.exactOptional();

const entryShape = shape.closed(
  'an object with `command` or `url`',
  {
    command: shape.oneLine.exactOptional(),
    args: shape.argumentList.exactOptional(),
    env: shape.environment.exactOptional(),
    cwd: shape.oneLine.exactOptional(),
    url: address,
    headers: shape.headerMap.exactOptional(),
    type: kindShape,
    disabled: shape.flag.exactOptional(),
    serverUrl: address,
    httpUrl: address,
    transport: kindShape,
    transportType: kindShape,
  },
  Object.keys(toleratedKeys),
);

const aServerName = 'up to 128 characters, none of them a control character';
const serverName = /^(?!\.{1,2}$)[^\p{Cc}\p{Cs}]{1,128}$/u;

export function readForeign(
  document: ConfigDocument,
  directory: string,
  given: Omit<Variables, 'predefined'>,
): ConfigReading {
  const where = membersOf(document);
  if (where === undefined) return { backends: [], notices: [] };
  const variables = { ...given, predefined: predefined(directory, given.env) };
  const notices: string[] = [];
  const disabled: string[] = [];
  const backends = (document.keys([where]) ?? []).flatMap((name): BackendConfig[] => {
    const path = [where, name];
    const isNamed = serverName.test(name);
    if (!isNamed) {
      document.reportKey(path, { message: `\`${name}\` can't be the name of a server`, expected: aServerName });
    }
    if (isDisabled(document, path, variables)) {
      notices.push(`server \`${name}\` is disabled and is ignored`);
      disabled.push(name);
      return [];
    }
    const draft = readEntry(document, path, name, variables, notices);
    return draft === undefined || !isNamed ? [] : [buildBackend(draft, directory, defaultLimits)];
  });
  return { backends, disabled, notices };
}

/** An editor's file is in its own folder inside the workspace. */
export function workspaceOf(file: string): string {
  const directory = dirname(file);
  return ['.vscode', '.cursor'].includes(basename(directory)) ? dirname(directory) : directory;
}

function predefined(directory: string, env: Variables['env']): Variables['predefined'] {
  return {
    workspaceFolder: directory,
    workspaceFolderBasename: basename(directory),
    userHome: env.HOME ?? env.USERPROFILE,
    pathSeparator: sep,
    '/': sep,
  };
}

function membersOf(document: ConfigDocument): 'mcpServers' | 'servers' | undefined {
  const keys = document.keys([]) ?? [];
  const present = (['mcpServers', 'servers'] as const).filter((key) => keys.includes(key));
  const [where, second] = present;
  if (second !== undefined) {
    document.reportKey([second], { message: 'both `mcpServers` and `servers`', expected: 'one of them' });
    return undefined;
  }
  if (where === undefined) {
    const close = keys.find((key) => nearest(key, ['mcpServers', 'servers']) !== undefined);
    const expected = "`mcpServers`, or VS Code's `servers`; Bascule's own settings go into bascule.yaml";
    const message = 'there are no servers in this file';
    if (close === undefined) document.report(['mcpServers'], { message, expected });
    else document.reportKey([close], { message, expected, candidates: ['mcpServers', 'servers'], wrong: close });
    return undefined;
  }
  if (document.keys([where]) !== undefined) return where;
  document.read([where]);
  document.report([where], {
    message: `\`${where}\` has a wrong value`,
    expected: 'an object with a member for each server',
  });
  return undefined;
}

function readEntry(
  document: ConfigDocument,
  path: Path,
  name: string,
  variables: Variables,
  notices: string[],
): BackendDraft | undefined {
  const members = withoutNulls(document.read(path, variables));
  const entry = check(document, path, members, entryShape);
  if (document.keys(path) === undefined) return undefined;
  const present = Object.keys(members as object);
  const [addressKey = 'url', second] = addressKeys.filter((key) => present.includes(key));
  if (second !== undefined) {
    const message = `both \`${addressKey}\` and \`${second}\``;
    document.reportKey([...path, second], { message, expected: 'one of them' });
  }
  const kind = kindOf(document, path, present, addressKey);
  if (entry === undefined || kind === undefined) return undefined;
  for (const key of present) {
    const consequence = toleratedKeys[key];
    if (consequence !== undefined) notices.push(`server \`${name}\`: \`${key}\` is ignored: ${consequence}`);
  }
  checkHeaders(document, [...path, 'headers'], entry.headers ?? {});
  const { command, args, env, cwd } = entry;
  if (kind === 'stdio') {
    saidKind(document, path, entry, kind);
    return { name, command, args, env, cwd };
  }
  const url = entry[addressKey];
  const said = saidKind(document, path, entry, kind);
  // VS Code's `http` falls back to SSE; Gemini CLI's `httpUrl` never does.
  const vscode = path[0] === 'servers' && said === 'streamable-http' && entry.type === 'http';
  const transport = vscode ? 'auto' : (said ?? (addressKey === 'httpUrl' ? 'streamable-http' : 'auto'));
  const headers = withoutGateways(entry.headers ?? {}, name, notices);
  const isProven = Object.keys(headers).some((header) => header.toLowerCase() === 'authorization');
  return { name, url, headers, transport, ...(!isProven && { auth: ifDemanded }) };
}

/**
 * Clients with such files ask for consent when a server requires it. The file belongs to one person, as a command line
 * does, so the account is shared.
 */
export const ifDemanded: BackendAuth = { grant: 'authorization_code', shared: true, implied: true };

/** The transport that an entry names, if it fits the entry's kind. */
function saidKind(
  document: ConfigDocument,
  path: Path,
  entry: Readonly<Partial<Record<(typeof kindKeys)[number], string | undefined>>>,
  kind: 'stdio' | 'http',
): HttpTransport | undefined {
  let transport: HttpTransport | undefined;
  for (const key of kindKeys) {
    const said = entry[key] === undefined ? undefined : kinds[entry[key]];
    if (said === undefined) continue;
    if ((said === 'stdio') !== (kind === 'stdio')) {
      const expected =
        kind === 'stdio' ? 'stdio, since there is a `command`' : 'http or sse, since there is no `command`';
      document.report([...path, key], { message: `\`${key}\` contradicts the rest of this server`, expected });
    } else if (said !== 'stdio') transport ??= said;
  }
  return transport;
}

/** Some programs write `null` for absent values. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

/** Copied snippets often contain `Accept` or `Content-Type`; ignore them with a notice. */
function withoutGateways(
  headers: Readonly<Record<string, string>>,
  name: string,
  notices: string[],
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([header]) => {
      if (!shape.gatewayHeaders.has(header.toLowerCase())) return true;
      notices.push(`server \`${name}\`: the header \`${header}\` is ignored: the gateway sets it itself`);
      return false;
    }),
  );
}
