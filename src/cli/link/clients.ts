/** The clients that `bascule link` knows: where their files are, and what an entry looks like. */
import { join } from 'node:path';
import { type ClientEntry, type EntryFormat, LinkError } from './entry-file.ts';
import { jsonFormat } from './json-entry.ts';
import { tomlFormat } from './toml-entry.ts';

export interface ClientRow {
  readonly title: string;
  readonly format: EntryFormat;
  readonly container: string;
  /** The file of the user. */
  readonly file: (at: Whereabouts) => string;
  /** The file of a project, below its folder. Absent: the client has none. */
  readonly projectFile?: string;
  /** Absent: the client reaches no server over HTTP, so it starts `bascule stdio <url>`. */
  readonly http?: (url: string, headers: readonly LinkHeader[]) => ClientEntry;
  readonly stdio: (command: string, args: readonly string[]) => ClientEntry;
  /** What the user has to do before the client sees the change. */
  readonly afterwards: string;
}

export interface Whereabouts {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/** A value may contain `${NAME}`: the client fills it in from its environment. */
export interface LinkHeader {
  readonly name: string;
  readonly value: string;
}

export const clients: Readonly<Record<string, ClientRow>> = {
  'claude-code': {
    title: 'Claude Code',
    format: jsonFormat,
    container: 'mcpServers',
    file: ({ home, env }) => join(env.CLAUDE_CONFIG_DIR ?? home, '.claude.json'),
    projectFile: '.mcp.json',
    http: (url, headers) => ({ type: 'http', url, ...headersOf(headers, (name) => `\${${name}}`) }),
    stdio: (command, args) => ({ type: 'stdio', command, args }),
    afterwards: 'Start a new session of Claude Code.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    format: jsonFormat,
    container: 'mcpServers',
    file: (at) => join(appFolder(at), 'Claude', 'claude_desktop_config.json'),
    stdio: (command, args) => ({ command, args }),
    afterwards: 'Quit Claude Desktop and start it again.',
  },
  cursor: {
    title: 'Cursor',
    format: jsonFormat,
    container: 'mcpServers',
    file: ({ home }) => join(home, '.cursor', 'mcp.json'),
    projectFile: join('.cursor', 'mcp.json'),
    http: (url, headers) => ({ url, ...headersOf(headers, (name) => `\${env:${name}}`) }),
    stdio: (command, args) => ({ command, args }),
    afterwards: 'Restart Cursor.',
  },
  vscode: {
    title: 'VS Code',
    format: jsonFormat,
    container: 'servers',
    file: (at) => join(appFolder(at), 'Code', 'User', 'mcp.json'),
    projectFile: join('.vscode', 'mcp.json'),
    http: (url, headers) => ({ type: 'http', url, ...headersOf(headers, (name) => `\${env:${name}}`) }),
    stdio: (command, args) => ({ type: 'stdio', command, args }),
    afterwards: 'Run the command "MCP: List Servers" in VS Code, and start it there.',
  },
  codex: {
    title: 'Codex',
    format: tomlFormat,
    container: 'mcp_servers',
    file: ({ home, env }) => join(env.CODEX_HOME ?? join(home, '.codex'), 'config.toml'),
    projectFile: join('.codex', 'config.toml'),
    http: (url, headers) => ({ url, ...codexHeaders(headers) }),
    stdio: (command, args) => ({ command, args }),
    afterwards: 'Start a new session of Codex.',
  },
};

/** Where the programs of a user keep their settings. */
function appFolder({ home, env, platform }: Whereabouts): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  if (platform === 'win32') return env.APPDATA ?? join(home, 'AppData', 'Roaming');
  return env.XDG_CONFIG_HOME ?? join(home, '.config');
}

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

function headersOf(headers: readonly LinkHeader[], refer: (name: string) => string): ClientEntry {
  if (headers.length === 0) return {};
  const filled = headers.map(({ name, value }) => [name, value.replaceAll(variable, (_, of: string) => refer(of))]);
  return { headers: Object.fromEntries(filled) };
}

/** Codex expands no variables: it has a member for each way in which a header may name one. */
function codexHeaders(headers: readonly LinkHeader[]): ClientEntry {
  const plain: Record<string, string> = {};
  const named: Record<string, string> = {};
  let bearer: string | undefined;
  for (const { name, value } of headers) {
    const [, scheme, of] = /^(Bearer )?\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(value) ?? [];
    if (of === undefined && value.includes('${'))
      throw new LinkError(
        `Codex can't put a variable into the middle of the header ${name}: name the whole value by it`,
      );
    if (of === undefined) plain[name] = value;
    else if (scheme === undefined) named[name] = of;
    else if (name.toLowerCase() === 'authorization') bearer = of;
    else throw new LinkError(`Codex can put \`Bearer\` and a variable only into the header Authorization`);
  }
  return {
    ...(bearer !== undefined && { bearer_token_env_var: bearer }),
    ...(Object.keys(plain).length > 0 && { http_headers: plain }),
    ...(Object.keys(named).length > 0 && { env_http_headers: named }),
  };
}
