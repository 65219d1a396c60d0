/** Reads `bascule.yaml`: a closed set of settings. Unknown and contradictory settings are refused. */
import * as z from 'zod';
import { type BackendDraft, buildBackend, checkHeaders, gatewayHeaders, kindOf } from './backends.ts';
import {
  type BackendConfig,
  denialStyles,
  type EndpointConfig,
  httpTransports,
  logFormats,
  logLevels,
  namings,
  processStates,
  type ServiceConfig,
} from './config.ts';
import { readBackendAuth } from './credentials.ts';
import type { ConfigDocument, Path } from './document.ts';
import { aPath, buildEndpoint, canonicalPath, defaultEndpoints } from './endpoints.ts';
import type { Variables } from './expand.ts';
import { callersOf, type IdentityReading, readGuard, readIdentity, withoutIdentity } from './identity.ts';
import { check } from './issues.ts';
import {
  buildRpcEndpoint,
  buildService,
  checkRpcEndpoint,
  checkService,
  protocols,
  refuseServices,
  type Services,
  unreachedServices,
} from './json-rpc.ts';
import {
  callLimitNames,
  type LimitName,
  type Limits,
  limitNames,
  limitRow,
  limitTable,
  settleLimits,
} from './limits.ts';
import { listenShape } from './listen.ts';
import { readPolicy } from './policy.ts';
import { readAudit } from './policy-audit.ts';
import {
  backendProfileShape,
  buildFullProfile,
  checkBackendProfile,
  checkFullProfile,
  profileShape,
} from './policy-profile.ts';
import { readRates } from './policy-rates.ts';
import { readQuantity, writeQuantity } from './quantity.ts';
import { type ConfigReading, isDisabled } from './reading.ts';
import * as shape from './shapes.ts';
import { storeIn, storeShape } from './store.ts';

const limitShapes = shapesOf(limitNames);

function shapesOf<Name extends LimitName>(names: readonly Name[]) {
  const shapes = names.map((name) => [name, shape.quantity(limitRow(name)).optional()]);
  return Object.fromEntries(shapes) as Record<Name, z.ZodOptional<ReturnType<typeof shape.quantity>>>;
}

/** 32 characters of base64 are 192 bits; fewer are as weak as a password. */
const sealKey = 'a secret of at least 32 characters';

const settings = {
  listen: listenShape.optional(),
  backends: z.record(z.string(), z.unknown(), { error: 'a map of backends by name' }),
  endpoints: z
    .array(z.unknown(), { error: 'a list of endpoints' })
    .min(1, { error: 'at least one endpoint' })
    .optional(),
  limits: shape.closed('a map of limits', limitShapes).optional(),
  identity: z.unknown().optional(),
  // Validated separately, once endpoints and backends are known.
  policy: z.unknown().optional(),
  rates: z.unknown().optional(),
  audit: z.unknown().optional(),
  store: storeShape.optional(),
  log: shape
    .closed('a map with `level` or `format`', {
      level: shape.choice(logLevels).optional(),
      format: shape.choice(logFormats).optional(),
    })
    .optional(),
  watch: shape.flag.optional(),
  seal: shape
    .closed('a map with `key`', { key: z.string({ error: sealKey }).min(32, { error: sealKey }).optional() })
    .optional(),
};
const fileShape = shape.closed('a map of settings', settings, ['mcpServers']);

const backendShape = shape.closed('a map of settings with `command` or `url`', {
  protocol: shape.choice(protocols).optional(),
  command: shape.oneLine.optional(),
  args: shape.argumentList.optional(),
  env: shape.environment.optional(),
  cwd: shape.oneLine.optional(),
  user: z.union([shape.oneLine, z.int().min(0)], { error: 'the name or number of a user of this machine' }).optional(),
  share: shape.flag.optional(),
  maxProcesses: shape.quantity(limitTable.processesPerBackend).optional(),
  idleMs: shape.quantity(limitTable.processIdleMs).optional(),
  state: shape.choice(processStates).optional(),
  url: shape.httpAddress.optional(),
  headers: shape.headerMap.optional(),
  auth: z.unknown().optional(),
  transport: shape.choice(httpTransports).optional(),
  limits: shape.closed('a map of limits', shapesOf(callLimitNames)).optional(),
  disabled: shape.flag.optional(),
  profile: backendProfileShape.optional(),
});

const aName = z.string({ error: 'the name of a backend' });

const endpointShape = shape.closed('a map with `path`', {
  protocol: shape.choice(protocols).optional(),
  path: z.string({ error: aPath }).refine((path) => canonicalPath(path) !== undefined, { error: aPath }),
  backends: z.array(aName, { error: 'a list of names' }).min(1, { error: 'at least one name' }).optional(),
  profile: profileShape.optional(),
  denials: shape.choice(denialStyles).optional(),
  sessions: shape.choice(['required', 'optional']).optional(),
  names: shape.choice(namings).optional(),
  identity: z.unknown().optional(),
});

/** Names are part of paths and of tool names. */
const backendName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/;

export function readOwn(document: ConfigDocument, directory: string, variables: Variables): ConfigReading {
  const keys = document.keys([]);
  if (keys?.includes('mcpServers')) {
    const expected = '`backends` in its place; `mcpServers` stands in files that end in .json';
    document.reportKey(['mcpServers'], { message: '`mcpServers` is not for this file', expected });
  }
  // Backends are read one by one: a variable that only a disabled backend uses may be unset.
  const section = (key: string) => (key === 'backends' ? shallow(document, key) : document.read([key], variables));
  const top = keys === undefined ? document.read([]) : Object.fromEntries(keys.map((key) => [key, section(key)]));
  const file = check(document, [], top, fileShape);
  const limits = readLimits(document, variables);
  const identity = readIdentity(document, directory, variables);

  const notices: string[] = [];
  const names = document.keys(['backends']) ?? [];
  const services: ServiceConfig[] = [];
  const backends = names.flatMap((name): BackendConfig[] => {
    const path = ['backends', name];
    const isNamed = backendName.test(name);
    if (!isNamed) {
      const expected = 'up to 64 letters, digits, dots, dashes and underscores';
      document.reportKey(path, { message: `\`${name}\` can't be the name of a backend`, expected });
    }
    if (isDisabled(document, path, variables)) {
      notices.push(`backend \`${name}\` is disabled and left out`);
      return [];
    }
    const draft = readBackend(document, path, name, variables);
    if (draft === undefined || !isNamed) return [];
    if (!isService(document, path, variables)) return [buildBackend(draft, { directory, limits })];
    services.push(buildService(draft));
    return [];
  });

  const built = new Set(backends.map(({ name }) => name));
  const served = new Set(services.map(({ name }) => name));
  const rpc = { names, services: names.filter((name) => isService(document, ['backends', name], variables)), served };
  // Read again from the file, since a mistake elsewhere must not hide mistakes in the endpoints.
  const items = document.read(['endpoints'], variables);
  const endpoints = Array.isArray(items)
    ? readEndpoints(document, items, { names, built, rpc, identity, limits })
    : undefined;
  const guard = (identity ?? withoutIdentity).guard;
  const places = endpoints ?? defaultEndpoints([...built], guard);
  const world = {
    endpoints: places.map(({ path }) => path),
    backends: [...built, ...served],
    callers: identity && callersOf(identity.settings, identity.authServer),
  };
  notices.push(...unreachedServices(served, places));
  const policy = readPolicy(document, variables, world);
  const rates = readRates(document, variables, world);
  const audit = readAudit(document, directory, variables);
  // Likewise for `listen`: exposure to the network is reported together with all other problems.
  const listen = listenShape.safeParse(document.read(['listen'], variables)).data;
  const access = { policy, rates, audit };
  return {
    listen,
    backends,
    services,
    endpoints,
    limits,
    identity,
    ...access,
    log: file?.log,
    watch: file?.watch,
    seal: file?.seal,
    store: storeIn(file?.store, directory),
    notices,
  };
}

function isService(document: ConfigDocument, path: Path, variables: Variables): boolean {
  return document.read([...path, 'protocol'], variables) === 'json-rpc';
}

function shallow(document: ConfigDocument, key: string): unknown {
  const names = document.keys([key]);
  return names === undefined ? document.read([key]) : Object.fromEntries(names.map((name) => [name, true]));
}

function readBackend(
  document: ConfigDocument,
  path: Path,
  name: string,
  variables: Variables,
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
    if (!gatewayHeaders.has(header.toLowerCase())) continue;
    document.reportKey([...path, 'headers', header], { message: `\`${header}\` is written by the gateway itself` });
  }
  if (kind === 'stdio' && entry.transport !== undefined) {
    document.reportKey([...path, 'transport'], {
      message: '`transport` means nothing here',
      expected: 'it beside a `url`',
    });
  }
  if (entry.share === true && (entry.maxProcesses ?? 1) > 1) {
    const expected = '1, since `share: true` means one process for everybody';
    document.report([...path, 'maxProcesses'], { message: '`maxProcesses` contradicts `share`', expected });
  }
  checkBackendProfile(document, [...path, 'profile'], entry.profile ?? {});
  return { name, ...entry, auth: readBackendAuth(document, [...path, 'auth'], variables) };
}

/** Reads each limit separately: a mistake in one must not hide that two others contradict each other. */
function readLimits(document: ConfigDocument, variables: Variables): Limits {
  const set: Partial<Record<LimitName, number>> = {};
  for (const name of limitNames) {
    const value = document.read(['limits', name], variables);
    const amount =
      typeof value === 'number' || typeof value === 'string' ? readQuantity(value, limitRow(name)) : undefined;
    if (amount !== undefined) set[name] = amount;
  }
  const { limits, conflicts } = settleLimits(set);
  for (const { name, other, most } of conflicts) {
    const expected = `at most ${writeQuantity(most, limitRow(name).unit)}, which is \`${other}\``;
    document.report(['limits', name], {
      message: `\`${name}\` is higher than \`${other}\``,
      expected,
    });
  }
  return limits;
}

interface FileContext {
  /** `names`: all backends of the file; `built`: those that are not disabled. */
  readonly names: readonly string[];
  readonly built: ReadonlySet<string>;
  readonly rpc: Services;
  readonly identity: IdentityReading | undefined;
  readonly limits: Limits;
}

function readEndpoints(
  document: ConfigDocument,
  items: readonly unknown[],
  { names, built, rpc, identity, limits }: FileContext,
): EndpointConfig[] {
  const paths = new Set<string>();
  return items.flatMap((item, at): EndpointConfig[] => {
    const here = ['endpoints', at];
    const endpoint = check(document, here, item, endpointShape);
    if (endpoint === undefined) return [];
    const path = canonicalPath(endpoint.path) ?? endpoint.path;
    if (paths.has(path)) {
      const message = 'another endpoint has this `path` already';
      document.report([...here, 'path'], { message, expected: 'a path of its own' });
    }
    paths.add(path);
    checkNames(document, [...here, 'backends'], endpoint.backends ?? [], names);
    checkFullProfile(document, [...here, 'profile'], endpoint.profile ?? {}, limits);
    const guard = readGuard(document, [...here, 'identity'], endpoint.identity, identity, endpoint.protocol);
    if (endpoint.protocol === 'json-rpc') {
      checkRpcEndpoint(document, here, endpoint, rpc);
      return [buildRpcEndpoint(path, guard, endpoint, rpc)];
    }
    refuseServices(document, [...here, 'backends'], endpoint.backends ?? [], rpc);
    const backends = (endpoint.backends ?? names).filter((name) => built.has(name));
    return [buildEndpoint(path, backends, buildFullProfile(endpoint.profile), guard, endpoint)];
  });
}

function checkNames(document: ConfigDocument, path: Path, given: readonly string[], names: readonly string[]): void {
  given.forEach((name, at) => {
    const here = [...path, at];
    if (!names.includes(name)) {
      const expected = names.length === 0 ? 'a backend of this file' : `one of: ${names.join(', ')}`;
      document.report(here, { message: `there is no backend \`${name}\``, expected, candidates: names, wrong: name });
    } else if (given.indexOf(name) < at) document.report(here, { message: `\`${name}\` is in this list already` });
  });
}
