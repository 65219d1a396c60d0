/** The servers of a client's file, as `bascule.yaml` has them. Values stay as they are, with their variables. */
import { basename, resolve, sep } from 'node:path';
import { workspaceOf } from '../../config/client-files.ts';
import { ConfigDocument } from '../../config/document.ts';
import { plainName } from '../../config/given-backend.ts';
import { loadConfig } from '../../config/load.ts';
import { gatewayHeaders } from '../../config/shapes.ts';

export interface InitialServer {
  readonly name: string;
  /** Where the client has another name for it, or settings that have no meaning here. */
  readonly remarks: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Throws a ConfigError with everything that is wrong with the file. Variables need not be set yet. */
export function serversOf(file: string, text: string, cwd: string): InitialServer[] {
  const notices = noticesOf(file, text, cwd);
  const document = new ConfigDocument(file, text, 'json');
  const where = (document.keys([]) ?? []).includes('mcpServers') ? 'mcpServers' : 'servers';
  const folder = workspaceOf(resolve(cwd, file));
  const taken = new Set<string>();
  return (document.keys([where]) ?? []).map((given) => {
    const name = unusedName(given, taken);
    const raw = document.read([where, given]) as Readonly<Record<string, unknown>>;
    const remarks = notices.filter((notice) => notice.startsWith(`server \`${given}\`: `));
    return {
      name,
      remarks: [...(name === given ? [] : [`the client calls it ${JSON.stringify(given)}`]), ...remarks],
      settings: settingsOf(raw, folder),
    };
  });
}

/** What the gateway would say about the file, with placeholders of the right form for its variables. */
function noticesOf(file: string, text: string, cwd: string): readonly string[] {
  const probe = text.replaceAll(/"\$\{[^}"]*\}/g, '"http://x').replaceAll(/\$\{[^}"]*\}/g, '1');
  return loadConfig({ path: file, cwd, env: {}, readFile: () => probe }).notices;
}

/** Clients allow any name; here it is part of a path. */
function unusedName(given: string, taken: Set<string>): string {
  const base = plainName(given);
  let name = base;
  for (let count = 2; taken.has(name); count += 1) name = `${base.slice(0, 60)}-${count}`;
  taken.add(name);
  return name;
}

const transports: Readonly<Record<string, string>> = {
  sse: 'sse',
  http: 'streamable-http',
  'streamable-http': 'streamable-http',
  streamableHttp: 'streamable-http',
};

function settingsOf(raw: Readonly<Record<string, unknown>>, folder: string): Record<string, unknown> {
  const { command, args, env, cwd, headers = {}, disabled } = raw;
  const sent = Object.fromEntries(
    Object.entries(headers as object).filter(([name]) => !gatewayHeaders.has(name.toLowerCase())),
  );
  const url = raw.url ?? raw.serverUrl ?? raw.httpUrl;
  const transport = transports[String(raw.type ?? raw.transport ?? raw.transportType)];
  const settings = {
    command,
    args,
    env,
    cwd: typeof cwd === 'string' && !cwd.includes('${') ? resolve(folder, cwd) : cwd,
    url,
    ...(url !== undefined && transport !== undefined && { transport }),
    headers: Object.keys(sent).length === 0 ? undefined : sent,
    // As clients do: the user is asked for consent where the server requires OAuth.
    ...(url !== undefined &&
      !Object.keys(sent).some(isNamed('authorization')) && { auth: { type: 'oauth', shared: true } }),
    disabled,
  };
  const present = Object.entries(settings).filter(([, value]) => value !== undefined && value !== null);
  return inOurWords(Object.fromEntries(present), folder) as Record<string, unknown>;
}

function isNamed(wanted: string): (name: string) => boolean {
  return (name) => name.toLowerCase() === wanted;
}

/** Variables that only editors know. What an editor asks its user for becomes a variable of the environment. */
function inOurWords(value: unknown, folder: string): unknown {
  if (typeof value === 'string')
    return value
      .replaceAll(/\$\{workspaceFolder\}/g, () => folder)
      .replaceAll(/\$\{workspaceFolderBasename\}/g, () => basename(folder))
      .replaceAll(/\$\{userHome\}/g, () => `\${HOME}`)
      .replaceAll(/\$\{(?:pathSeparator|\/)\}/g, sep)
      .replaceAll(/\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => `\${${name}}`)
      .replaceAll(/\$\{input:([^}]*)\}/g, (_, id: string) => `\${${variableName(id)}}`);
  if (Array.isArray(value)) return value.map((item) => inOurWords(item, folder));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inOurWords(member, folder)]));
}

/** `github-token` -> `GITHUB_TOKEN`. */
export function variableName(text: string): string {
  const name = text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return /^[A-Z]/.test(name) ? name : `VALUE_${name}`;
}
