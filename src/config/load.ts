/** Loads a Config from a file, or the demo's if there is none. The only way to make one. */
import { createHash } from 'node:crypto';
import { dirname, extname, join, resolve } from 'node:path';
import { checkOwnPaths } from './authserver.ts';
import { buildBackend } from './backends.ts';
import { type ConfigReading, readOwn } from './bascule-yaml.ts';
import { readForeign, workspaceOf } from './client-files.ts';
import { type BackendConfig, type Config, deepFreeze } from './config.ts';
import { checkConsents } from './consent.ts';
import { checkConsole } from './console.ts';
import { ConfigDocument } from './document.ts';
import { defaultEndpoints } from './endpoints.ts';
import { withBackendOverrides } from './entry-overrides.ts';
import { withChoices } from './extensions.ts';
import { type GivenBackend, readGiven } from './given-backend.ts';
import { unreachable, withoutIdentity } from './identity.ts';
import { defaultLimits } from './limits.ts';
import { buildListen, exposure, isOurselves } from './listen.ts';
import { checkOverrides, type Overrides, onCommandLine } from './overrides.ts';
import { checkApprovals } from './policy-approval.ts';
import { ConfigError, type Problem } from './problems.ts';
import { checkProxy } from './proxy.ts';
import { checkSandboxes } from './sandbox.ts';
import type { Syntax } from './syntax.ts';
import { readTraces } from './traces.ts';

export interface LoadOptions {
  readonly cwd: string;
  /** Undefined if the file does not exist; throws if it cannot be read. */
  readonly readFile: (path: string) => string | undefined;
  /** Follows links. Default: there are none. */
  readonly realPath?: ((path: string) => string) | undefined;
  /** The file that the user named. Without it, the working directory is searched. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Starts at 1; each reload adds 1. */
  readonly generation?: number | undefined;
  /** Settings from the command line, which override the file. */
  readonly overrides?: Overrides | undefined;
  /** The one backend that the command line names. No file is read then. */
  readonly given?: GivenBackend | undefined;
  /** How to start the built-in demo server if there is no config. */
  readonly demo?: { readonly command: string; readonly args: readonly string[] } | undefined;
}

export interface Loaded {
  readonly config: Config;
  /** What was ignored, left out or assumed, for people, one sentence each. */
  readonly notices: readonly string[];
}

/** Throws only a ConfigError, with all problems. */
export function loadConfig(options: LoadOptions): Loaded {
  if (options.given !== undefined) return loadGiven(options, options.given);
  const found = findConfig(options);
  if (found === undefined) return settle(options, 'demo', demo(options), undefined);
  const syntax = syntaxOf(found.file, found.text);
  const document = new ConfigDocument(found.file, found.text, syntax);
  const file = resolve(options.cwd, found.file);
  const directory = dirname(file);
  const readFile = (path: string) => options.readFile(resolve(directory, path));
  // Clients' files are JSON and our own is YAML, so the syntax decides the dialect.
  const reading =
    syntax === 'json'
      ? readForeign(document, workspaceOf(file), { env: options.env, readFile })
      : readOwn(document, directory, { env: options.env, predefined: {}, readFile });
  const notices = [...found.notices, ...reading.notices];
  if (reading.backends.length + (reading.services ?? []).length === 0)
    notices.push('the config has no backend, so clients find nothing');
  return settle(options, found.file, { ...reading, notices }, document);
}

function loadGiven(options: LoadOptions, given: GivenBackend): Loaded {
  const { source, reading, problems } = readGiven(given, options);
  if (problems.length > 0) throw new ConfigError(problems);
  const loaded = settle(options, source, reading, undefined);
  if (loaded.config.backends.length > 0) return loaded;
  const expected = 'the address of another server, or another port with --port';
  throw new ConfigError([onCommandLine({ message: 'this address is the one that the gateway listens on', expected })]);
}

function settle(
  options: LoadOptions,
  source: string,
  reading: ConfigReading,
  document: ConfigDocument | undefined,
): Loaded {
  const problems: Problem[] = [];
  const overrides = checkOverrides(options.overrides ?? {}, problems);
  const identity = reading.identity ?? withoutIdentity;
  const { publicUrl } = identity.settings;
  const listen = buildListen(reading.listen, overrides, publicUrl);
  const isOwn = (backend: BackendConfig) =>
    options.given?.overStdio !== true && isOurselves(backend, listen, publicUrl);
  const own = reading.backends.filter(isOwn).map(({ name }) => name);
  const backends = reading.backends.filter(({ name }) => !own.includes(name));
  const places =
    reading.endpoints?.map((endpoint) => ({
      ...endpoint,
      backends: endpoint.backends.filter((name) => !own.includes(name)),
    })) ??
    defaultEndpoints(
      backends.map(({ name }) => name),
      identity.guard,
    );
  const endpoints = places.map((endpoint, at) => {
    const place = document && { document, path: ['endpoints', at] };
    return withBackendOverrides(withChoices(endpoint, reading.settings?.extensions), reading.overrides, place);
  });
  const addressless = unreachable(identity, listen);
  if (addressless !== undefined) document?.report(['identity'], addressless);
  if (identity.authServer !== undefined && document !== undefined) checkOwnPaths(document, endpoints);
  if (document !== undefined) checkConsents(document, reading.backends, identity, listen);
  if (document !== undefined) checkConsole(document, reading.console, identity, listen);
  if (document !== undefined)
    checkProxy(document, { backends, services: reading.services ?? [], endpoints }, reading.proxy);
  const storeDir = reading.store?.dir ?? usualStoreDir(options.env, resolve(options.cwd, source));
  if (document !== undefined)
    checkSandboxes(
      document,
      backends,
      [
        { path: storeDir, what: 'the state directory' },
        { path: identity.settings.keyFile, what: 'the access keys' },
        { path: identity.authServer?.userFile, what: 'the users' },
        { path: listen.tls?.key, what: 'the TLS key' },
        { path: resolve(options.cwd, source), what: 'the config' },
        { path: listen.socket?.path, what: 'the socket' },
        { path: reading.pins?.file, what: 'the pins' },
        { path: reading.rehearsal?.path, what: 'the recorded requests' },
        { path: auditFileOf(reading), what: 'the audit trail' },
      ],
      options.realPath ?? ((path) => path),
    );
  if (document !== undefined) checkApprovals(document, reading.policy, reading.console, identity);
  const byCommand = document === undefined || overrides.host !== undefined;
  const isOpen = endpoints.some((endpoint) => endpoint.identity.kind === 'open');
  const exposed = isOpen ? exposure(listen, byCommand) : undefined;
  if (exposed !== undefined) {
    if (document === undefined || byCommand) problems.push(onCommandLine(exposed));
    else document.report(['listen', 'host'], exposed);
  }
  const notices = [...reading.notices];
  const traces = readTraces(reading.settings?.traces, options.env, { problems, notices });
  problems.push(...(document?.problems ?? []));
  if (problems.length > 0) throw new ConfigError(problems);
  const { log, watch = true, seal = {}, name } = reading.settings ?? {};
  const config: Config = {
    generation: options.generation ?? 1,
    source,
    listen,
    backends,
    services: reading.services ?? [],
    endpoints,
    disabled: reading.disabled ?? [],
    identity: identity.settings,
    ...(reading.policy && { policy: reading.policy }),
    rates: reading.rates ?? [],
    ...(reading.audit && { audit: reading.audit }),
    ...(reading.rehearsal && { rehearsal: reading.rehearsal }),
    ...(reading.pins && { pins: reading.pins }),
    ...(traces && { traces }),
    ...(reading.metrics && { metrics: reading.metrics }),
    ...(identity.authServer && { authServer: identity.authServer }),
    ...(reading.proxy && { proxy: reading.proxy }),
    ...(reading.console && { console: reading.console.settings }),
    operators: reading.console?.rights ?? {},
    store: { ...reading.store, dir: storeDir },
    ...(reading.replicas && { replicas: reading.replicas }),
    limits: reading.limits ?? defaultLimits,
    log: {
      level: overrides.logLevel ?? log?.level ?? 'info',
      format: log?.format ?? 'auto',
      requests: overrides.logRequests ?? log?.requests ?? false,
    },
    watch,
    seal,
    instance: name === undefined ? {} : { name },
  };
  const leftOut = own.map((name) => `backend \`${name}\` is this gateway itself and is ignored`);
  return { config: deepFreeze(config), notices: [...notices, ...leftOut] };
}

function auditFileOf({ audit }: ConfigReading): string | undefined {
  return audit?.to.kind === 'file' ? audit.to.path : undefined;
}

function demo({ demo: server, cwd }: LoadOptions): ConfigReading {
  const notices = ['no config file was found (bascule.yaml, .mcp.json or mcp.json): serving the built-in demo'];
  if (server === undefined) return { backends: [], notices };
  const draft = { name: 'demo', command: server.command, args: [...server.args] };
  return { backends: [buildBackend(draft, cwd, defaultLimits)], notices };
}

/** If the extension does not decide (a pipe, a temporary file), an opening brace means JSON. */
function syntaxOf(file: string, text: string): Syntax {
  const extension = extname(file).toLowerCase();
  if (extension === '.json' || extension === '.jsonc') return 'json';
  if (extension === '.yaml' || extension === '.yml') return 'yaml';
  return /^\s*[{/]/.test(text) ? 'json' : 'yaml';
}

/**
 * The XDG base directory for state, with one directory for each config file: two gateways on one machine share neither
 * keys nor grants unless configured to. Without a home directory, it is beside the config.
 */
function usualStoreDir(env: Readonly<Record<string, string | undefined>>, source: string): string {
  const { XDG_STATE_HOME: state, HOME: home } = env;
  const base = state?.startsWith('/') ? state : home ? join(home, '.local', 'state') : undefined;
  if (base === undefined) return join(dirname(source), '.bascule');
  return join(base, 'bascule', createHash('sha256').update(source).digest('hex').slice(0, 12));
}

/** In this order, in the working directory. Our own file can express more, so it comes first. */
const wellKnown = ['bascule.yaml', 'bascule.yml', '.mcp.json', 'mcp.json'] as const;

interface FoundConfig {
  /** As named by the user, or as found. */
  readonly file: string;
  readonly text: string;
  readonly notices: readonly string[];
}

/** The file that the user named, or the first well-known one. Undefined if none was named and none exists. */
function findConfig(options: LoadOptions): FoundConfig | undefined {
  const { path } = options;
  if (path !== undefined) {
    const text = textOf(path, options);
    if (text === undefined) throw wholeFile(path, 'there is no such file');
    return { file: path, text, notices: [] };
  }
  const present = wellKnown.filter((name) => textOf(name, options, 'or not') !== undefined);
  const [file, ...others] = present;
  if (file === undefined) return undefined;
  const notices = others.length === 0 ? [] : [`using ${file}; these files are ignored: ${others.join(', ')}`];
  return { file, text: textOf(file, options) ?? '', notices };
}

/** `or not`: ignore read errors while only looking for the file. They are reported once it is the chosen one. */
function textOf(file: string, { cwd, readFile }: LoadOptions, certain: 'certain' | 'or not' = 'certain') {
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
