/**
 * One entry of a config file -> one backend. `client-files.ts` reads the entries of clients' files, and shares the
 * checks and defaults.
 */
import { resolve } from 'node:path';
import * as z from 'zod';
import type { BackendOverrides } from '../catalog/overrides/settings.ts';
import type { BackendAuth } from '../oauth/client/settings.ts';
import { traceSendings } from '../observe/traces/settings.ts';
import {
  type BackendConfig,
  httpTransports,
  processStates,
  protocols,
  type SandboxConfig,
  type ServiceConfig,
} from './config.ts';
import { readBackendAuth } from './credentials.ts';
import type { ConfigDocument, Path } from './document.ts';
import { backendOverridesShape, readOverrides } from './entry-overrides.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { checkService } from './json-rpc.ts';
import { callLimitNames, type LimitName, type Limits, limitRow, limitTable } from './limits.ts';
import { nearest } from './nearest.ts';
import { backendProfileShape, buildBackendProfile, checkBackendProfile } from './policy-profile.ts';
import { readSandbox } from './sandbox.ts';
import * as shape from './shapes.ts';

export function limitShapes<Name extends LimitName>(names: readonly Name[]) {
  const shapes = names.map((name) => [name, shape.quantity(limitRow(name)).exactOptional()]);
  return Object.fromEntries(shapes) as Record<Name, z.ZodExactOptional<ReturnType<typeof shape.quantity>>>;
}

const backendShape = shape.closed('a map of settings with `command` or `url`', {
  protocol: shape.choice(protocols).exactOptional(),
  command: shape.oneLine.exactOptional(),
  args: shape.argumentList.exactOptional(),
  env: shape.environment.exactOptional(),
  cwd: shape.oneLine.exactOptional(),
  user: z
    .union([shape.oneLine, z.int().min(0)], { error: 'the name or number of a user of this machine' })
    .exactOptional(),
  sandbox: z.unknown().exactOptional(),
  share: shape.flag.exactOptional(),
  maxProcesses: shape.quantity(limitTable.processesPerBackend).exactOptional(),
  idleMs: shape.quantity(limitTable.processIdleMs).exactOptional(),
  state: shape.choice(processStates).exactOptional(),
  url: shape.httpAddress.exactOptional(),
  socket: shape.oneLine.exactOptional(),
  headers: shape.headerMap.exactOptional(),
  auth: z.unknown().exactOptional(),
  transport: shape.choice(httpTransports).exactOptional(),
  credentials: shape.choice(['client']).exactOptional(),
  limits: shape.closed('a map of limits', limitShapes(callLimitNames)).exactOptional(),
  disabled: shape.flag.exactOptional(),
  profile: backendProfileShape.exactOptional(),
  traces: shape.choice(traceSendings).exactOptional(),
  overrides: z.unknown().exactOptional(),
});
type Settings = Omit<z.infer<typeof backendShape>, 'auth' | 'sandbox' | 'overrides'> & {
  readonly auth?: BackendAuth;
  readonly sandbox?: SandboxConfig;
  readonly overrides?: BackendOverrides;
};

/** An entry after validation, with the dialect's own spellings replaced. */
export type BackendDraft = { readonly name: string } & {
  readonly [Key in keyof Settings]: Settings[Key] | undefined;
};

/** Read before the rest of an entry, which may be invalid while it is disabled. */
export function isDisabled(document: ConfigDocument, path: Path, variables: Variables): boolean {
  return [true, 'true'].includes(document.read([...path, 'disabled'], variables) as boolean | string);
}

export function isService(document: ConfigDocument, path: Path, variables: Variables): boolean {
  return document.read([...path, 'protocol'], variables) === 'json-rpc';
}

export function readBackend(
  document: ConfigDocument,
  path: Path,
  name: string,
  { variables, directory }: { readonly variables: Variables; readonly directory: string },
): BackendDraft | undefined {
  const entry = check(document, path, document.read(path, variables), backendShape);
  const keys = document.keys(path);
  if (keys === undefined) return undefined;
  const service = isService(document, path, variables);
  if (service) checkService(document, path);
  const kind = service ? 'http' : kindOf(document, path, keys);
  if (entry === undefined || kind === undefined) return undefined;
  checkHeaders(document, [...path, 'headers'], entry.headers ?? {});
  for (const header of Object.keys(entry.headers ?? {})) {
    if (!shape.gatewayHeaders.has(header.toLowerCase())) continue;
    document.reportKey([...path, 'headers', header], { message: `\`${header}\` is set by the gateway itself` });
  }
  if (kind === 'stdio' && entry.transport !== undefined) document.reportMeaningless([...path, 'transport'], besideUrl);
  checkClientCredentials(document, path, entry.credentials);
  // Its metadata would be looked for at the host of `url`, where something else answers.
  if (entry.socket !== undefined && keys.includes('auth'))
    document.reportMeaningless([...path, 'auth'], 'without `socket`');
  if (entry.share === true && (entry.maxProcesses ?? 1) > 1) {
    const expected = '1, since `share: true` means one process for all clients';
    document.report([...path, 'maxProcesses'], { message: '`maxProcesses` contradicts `share`', expected });
  }
  checkBackendProfile(document, [...path, 'profile'], entry.profile ?? {});
  const place = { directory, cwd: entry.cwd };
  return {
    ...entry,
    name,
    sandbox: readSandbox(document, [...path, 'sandbox'], entry.sandbox, place),
    auth: readBackendAuth(document, [...path, 'auth'], variables),
    overrides: overridesOf(document, [...path, 'overrides'], name, entry.overrides),
  };
}

function overridesOf(document: ConfigDocument, path: Path, name: string, given: unknown): BackendOverrides | undefined {
  const overrides = given === undefined ? undefined : check(document, path, given, backendOverridesShape());
  return overrides && readOverrides(document, path, name, overrides);
}

const stdioOnly: readonly string[] = [
  'args',
  'env',
  'cwd',
  'user',
  'sandbox',
  'share',
  'maxProcesses',
  'idleMs',
  'state',
];
const httpOnly: readonly string[] = ['socket', 'headers', 'auth', 'credentials'];
const besideUrl = 'beside a `url`';

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
    if (keys.includes(key)) document.reportMeaningless([...path, key], hasCommand ? besideUrl : 'beside a `command`');
  }
  return hasCommand ? 'stdio' : 'http';
}

/** The backend gets one `Authorization`, the client's. */
function checkClientCredentials(document: ConfigDocument, path: Path, credentials: 'client' | undefined): void {
  if (credentials === undefined) return;
  const others = [
    ...(document.keys([...path, 'auth']) === undefined ? [] : [[...path, 'auth']]),
    ...(document.keys([...path, 'headers']) ?? []).flatMap((name) =>
      name.toLowerCase() === 'authorization' ? [[...path, 'headers', name]] : [],
    ),
  ];
  for (const other of others)
    document.reportKey(other, {
      message: `both \`credentials: client\` and \`${String(other.at(-1))}\``,
      expected: 'one of them: with `credentials: client` the backend gets the `Authorization` of its client',
    });
}

/** Header names are case-insensitive; a duplicate would silently win. */
export function checkHeaders(document: ConfigDocument, path: Path, headers: Readonly<Record<string, string>>): void {
  const seen = new Set<string>();
  for (const name of Object.keys(headers)) {
    const folded = name.toLowerCase();
    if (seen.has(folded)) document.reportKey([...path, name], { message: `\`${name}\` is repeated` });
    seen.add(folded);
  }
}

/** Relative working directories are resolved against `directory`. */
export function buildBackend(draft: BackendDraft, directory: string, limits: Limits): BackendConfig {
  const { name, command, cwd, user, auth, profile, share = false } = draft;
  const own = {
    ...(draft.limits && { limits: draft.limits }),
    ...(profile && { profile: buildBackendProfile(profile) }),
    ...(draft.traces && { traces: draft.traces }),
  };
  if (command === undefined) {
    const { transport = 'auto', credentials } = draft;
    return {
      ...{ kind: 'http', transport, ...addressOf(draft, directory), ...own },
      ...(auth && { auth }),
      ...(credentials && { credentials }),
    };
  }
  return {
    kind: 'stdio',
    name,
    command,
    args: draft.args ?? [],
    env: draft.env ?? {},
    ...(cwd !== undefined && { cwd: resolve(directory, cwd) }),
    ...(user !== undefined && { user: String(user) }),
    ...(draft.sandbox && { sandbox: draft.sandbox }),
    share,
    maxProcesses: share ? 1 : (draft.maxProcesses ?? limits.processesPerBackend),
    idleMs: draft.idleMs ?? limits.processIdleMs,
    state: draft.state ?? 'session',
    ...own,
  };
}

export function buildService(draft: BackendDraft, directory: string): ServiceConfig {
  return { ...addressOf(draft, directory), ...(draft.limits && { limits: draft.limits }) };
}

function addressOf({ name, url = '', socket, headers = {} }: BackendDraft, directory: string): ServiceConfig {
  return { name, url, headers, ...(socket !== undefined && { socket: resolve(directory, socket) }) };
}
