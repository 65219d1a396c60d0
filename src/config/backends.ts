/**
 * One entry of a config file -> one backend. The part that both dialects share; `client-files.ts` and `bascule-yaml.ts` have the
 * rest.
 */
import { resolve } from 'node:path';
import type { BackendAuth } from '../oauth/client/settings.ts';
import type { BackendConfig, HttpBackendConfig, HttpTransport, ProcessState, StdioBackendConfig } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import { type CallLimitsDraft, type Limits, ownLimits } from './limits.ts';
import { nearest } from './nearest.ts';
import { type BackendProfileDraft, buildBackendProfile } from './policy-profile.ts';

/** An entry after validation, with the dialect's own spellings replaced. */
export interface BackendDraft {
  readonly name: string;
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly user?: string | number | undefined;
  readonly share?: boolean | undefined;
  readonly maxProcesses?: number | undefined;
  readonly idleMs?: number | undefined;
  readonly state?: ProcessState | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly transport?: HttpTransport | undefined;
  readonly auth?: BackendAuth | undefined;
  readonly limits?: CallLimitsDraft | undefined;
  readonly profile?: BackendProfileDraft | undefined;
}

/** Relative working directories are resolved against `directory`. */
export interface BackendContext {
  readonly directory: string;
  readonly limits: Limits;
}

const stdioOnly: readonly string[] = ['args', 'env', 'cwd', 'user', 'share', 'maxProcesses', 'idleMs', 'state'];
const httpOnly: readonly string[] = ['headers', 'auth'];

/** Headers that the gateway writes on every request by the rules of MCP or HTTP. A config cannot know their values. */
export const gatewayHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'content-type', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade', 'te'],
  ...['trailer', 'expect', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'],
]);

/**
 * The kind of an entry, from its keys alone. Wrong values do not matter, so that a wrong kind is reported together with
 * all other problems.
 */
export function kindOf(
  document: ConfigDocument,
  path: Path,
  keys: readonly string[],
  addressKey = 'url',
): 'stdio' | 'http' | undefined {
  const hasCommand = keys.includes('command');
  const hasAddress = keys.includes(addressKey);
  // A misspelled key such as `comand` was already reported.
  if (!hasCommand && !hasAddress && keys.some((key) => nearest(key, ['command', 'url']) !== undefined))
    return undefined;
  if (hasCommand === hasAddress) {
    const message = hasCommand ? `both \`command\` and \`${addressKey}\`` : 'neither `command` nor `url`';
    const expected = 'one of them: `command` starts a server, `url` calls one';
    document.reportKey(hasCommand ? [...path, addressKey] : path, { message, expected });
    return undefined;
  }
  for (const key of hasCommand ? httpOnly : stdioOnly) {
    if (keys.includes(key)) {
      const expected = hasCommand ? 'it beside a `url`' : 'it beside a `command`';
      document.reportKey([...path, key], { message: `\`${key}\` means nothing here`, expected });
    }
  }
  return hasCommand ? 'stdio' : 'http';
}

/** Header names are case-insensitive; a duplicate would silently win. */
export function checkHeaders(document: ConfigDocument, path: Path, headers: Readonly<Record<string, string>>): void {
  const seen = new Set<string>();
  for (const name of Object.keys(headers)) {
    const folded = name.toLowerCase();
    if (seen.has(folded)) document.reportKey([...path, name], { message: `\`${name}\` stands here a second time` });
    seen.add(folded);
  }
}

export function buildBackend(draft: BackendDraft, { directory, limits }: BackendContext): BackendConfig {
  return draft.command === undefined ? httpBackend(draft) : stdioBackend(draft, draft.command, directory, limits);
}

function httpBackend(draft: BackendDraft): HttpBackendConfig {
  const { name, url = '', headers = {}, transport = 'auto', auth } = draft;
  const own = { ...ownLimits(draft), ...ownProfile(draft), ...(auth && { auth }) };
  return { kind: 'http', name, url, headers: { ...headers }, transport, ...own };
}

function stdioBackend(draft: BackendDraft, command: string, directory: string, limits: Limits): StdioBackendConfig {
  const { name, args = [], env = {}, cwd, user, share = false } = draft;
  return {
    kind: 'stdio',
    name,
    command,
    args: [...args],
    env: { ...env },
    ...(cwd === undefined ? {} : { cwd: resolve(directory, cwd) }),
    ...(user === undefined ? {} : { user: String(user) }),
    share,
    maxProcesses: share ? 1 : (draft.maxProcesses ?? limits.processesPerBackend),
    idleMs: draft.idleMs ?? limits.processIdleMs,
    state: draft.state ?? 'session',
    ...ownLimits(draft),
    ...ownProfile(draft),
  };
}

function ownProfile({ profile }: BackendDraft): Pick<BackendConfig, 'profile'> {
  return profile === undefined ? {} : { profile: buildBackendProfile(profile) };
}
