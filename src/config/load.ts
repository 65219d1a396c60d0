/** Loads a Config from a file, or the demo's if there is none. The only way to make one. */
import { dirname, extname, resolve } from 'node:path';
import { checkOwnPaths } from './authserver.ts';
import { buildBackend } from './backends.ts';
import { readOwn } from './bascule-yaml.ts';
import { readForeign, workspaceOf } from './client-files.ts';
import { type Config, deepFreeze } from './config.ts';
import { checkConsents } from './consent.ts';
import { type ConfigPlaces, findConfig } from './discover.ts';
import { ConfigDocument } from './document.ts';
import { defaultEndpoints } from './endpoints.ts';
import { unreachable, withoutIdentity } from './identity.ts';
import { defaultLimits } from './limits.ts';
import { buildListen, exposure } from './listen.ts';
import { checkOverrides, type Overrides, onCommandLine } from './overrides.ts';
import { isOurselves } from './own-addresses.ts';
import { ConfigError, type Problem } from './problems.ts';
import type { ConfigReading } from './reading.ts';
import { usualStoreDir } from './store.ts';
import type { Syntax } from './syntax.ts';

export interface LoadOptions extends ConfigPlaces {
  /** The file that the user named. Without it, the working directory is searched. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Starts at 1; each reload adds 1. */
  readonly generation?: number | undefined;
  /** Settings from the command line, which override the file. */
  readonly overrides?: Overrides | undefined;
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
  const found = findConfig(options.path, options);
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
    notices.push('there is no backend: nothing will be offered');
  return settle(options, found.file, { ...reading, notices }, document);
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
  const listen = buildListen(reading.listen, overrides, identity.settings.publicUrl);
  const ours = { listen, publicUrl: identity.settings.publicUrl };
  const own = reading.backends.filter((backend) => isOurselves(backend, ours)).map(({ name }) => name);
  const backends = reading.backends.filter(({ name }) => !own.includes(name));
  const endpoints =
    reading.endpoints?.map((endpoint) => ({
      ...endpoint,
      backends: endpoint.backends.filter((name) => !own.includes(name)),
    })) ??
    defaultEndpoints(
      backends.map(({ name }) => name),
      identity.guard,
    );
  const addressless = unreachable(identity, listen);
  if (addressless !== undefined) document?.report(['identity'], addressless);
  if (identity.authServer !== undefined && document !== undefined) checkOwnPaths(document, endpoints);
  if (document !== undefined) checkConsents(document, reading.backends, identity, listen);
  const byCommand = document === undefined || overrides.host !== undefined;
  const isOpen = endpoints.some((endpoint) => endpoint.identity.kind === 'open');
  const exposed = isOpen ? exposure(listen, byCommand) : undefined;
  if (exposed !== undefined) {
    if (document === undefined || byCommand) problems.push(onCommandLine(exposed));
    else document.report(['listen', 'host'], exposed);
  }
  problems.push(...(document?.problems ?? []));
  if (problems.length > 0) throw new ConfigError(problems);
  const key = reading.seal?.key;
  const config: Config = {
    generation: options.generation ?? 1,
    source,
    listen,
    backends,
    services: reading.services ?? [],
    endpoints,
    identity: identity.settings,
    ...(reading.policy && { policy: reading.policy }),
    rates: reading.rates ?? [],
    ...(reading.audit && { audit: reading.audit }),
    ...(identity.authServer === undefined ? {} : { authServer: identity.authServer }),
    store: { dir: reading.store?.dir ?? usualStoreDir(options.env, resolve(options.cwd, source)) },
    limits: reading.limits ?? defaultLimits,
    log: { level: overrides.logLevel ?? reading.log?.level ?? 'info', format: reading.log?.format ?? 'auto' },
    watch: reading.watch ?? true,
    seal: key === undefined ? {} : { key },
  };
  const leftOut = own.map((name) => `backend \`${name}\` is the address of this gateway itself and is left out`);
  return { config: deepFreeze(config), notices: [...reading.notices, ...leftOut] };
}

function demo({ demo: server, cwd }: LoadOptions): ConfigReading {
  const notices = ['no config file was found (bascule.yaml, .mcp.json or mcp.json): serving the built-in demo'];
  if (server === undefined) return { backends: [], notices };
  const draft = { name: 'demo', command: server.command, args: server.args };
  return { backends: [buildBackend(draft, { directory: cwd, limits: defaultLimits })], notices };
}

/** If the extension does not decide (a pipe, a temporary file), an opening brace means JSON. */
function syntaxOf(file: string, text: string): Syntax {
  const extension = extname(file).toLowerCase();
  if (extension === '.json' || extension === '.jsonc') return 'json';
  if (extension === '.yaml' || extension === '.yml') return 'yaml';
  return /^\s*[{/]/.test(text) ? 'json' : 'yaml';
}
