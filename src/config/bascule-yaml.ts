/** Reads `bascule.yaml`: a closed set of settings. Unknown and contradictory settings are refused. */
import * as z from 'zod';
import type { BackendOverrides } from '../catalog/overrides/settings.ts';
import { buildBackend, buildService, isDisabled, isService, limitShapes, readBackend } from './backends.ts';
import { type BackendConfig, type Config, logFormats, logLevels, type ServiceConfig } from './config.ts';
import { type ConsoleReading, readConsole } from './console.ts';
import type { ConfigDocument } from './document.ts';
import { defaultEndpoints, readEndpoints } from './endpoints.ts';
import type { Variables } from './expand.ts';
import { extensionsShape } from './extensions.ts';
import { callersOf, type IdentityReading, readIdentity, withoutIdentity } from './identity.ts';
import { check } from './issues.ts';
import { unreachedServices } from './json-rpc.ts';
import { type LimitName, type Limits, limitNames, limitRow, settleLimits } from './limits.ts';
import { type ListenSettings, listenShape, readListen } from './listen.ts';
import { readMetrics } from './metrics.ts';
import { readPins } from './pins.ts';
import { readPolicy } from './policy.ts';
import { readAudit } from './policy-audit.ts';
import { readRates } from './policy-rates.ts';
import { type ProxyConfig, readProxy } from './proxy.ts';
import { readQuantity, writeQuantity } from './quantity.ts';
import { readRehearsal } from './rehearsal.ts';
import { readReplicas, replicasShape } from './replicas.ts';
import * as shape from './shapes.ts';
import { readStore, storeShape } from './store.ts';
import { tracesShape } from './traces.ts';

/** 32 characters of base64 are 192 bits; fewer are as weak as a password. */
const sealKey = shape.text('a secret of at least 32 characters', (text) => text.length >= 32);

const fileShape = shape.once(() =>
  shape.closed(
    'a map of settings',
    {
      listen: listenShape.exactOptional(),
      backends: z.record(z.string(), z.unknown(), { error: 'a map of backends by name' }),
      endpoints: shape.someOf(z.unknown(), 'endpoints', 'endpoint').exactOptional(),
      extensions: extensionsShape.exactOptional(),
      limits: shape.closed('a map of limits', limitShapes(limitNames)).exactOptional(),
      identity: z.unknown().exactOptional(),
      // Validated separately, once endpoints and backends are known.
      policy: z.unknown().exactOptional(),
      rates: z.unknown().exactOptional(),
      audit: z.unknown().exactOptional(),
      rehearsal: z.unknown().exactOptional(),
      pins: z.unknown().exactOptional(),
      metrics: z.unknown().exactOptional(),
      console: z.unknown().exactOptional(),
      proxy: z.unknown().exactOptional(),
      store: storeShape().exactOptional(),
      replicas: replicasShape().exactOptional(),
      log: shape
        .closed('a map with `level`, `format` or `requests`', {
          level: shape.choice(logLevels).exactOptional(),
          format: shape.choice(logFormats).exactOptional(),
          requests: shape.flag.exactOptional(),
        })
        .exactOptional(),
      traces: tracesShape().exactOptional(),
      watch: shape.flag.exactOptional(),
      seal: shape
        .closed('a map with `key` or `previous`', {
          key: sealKey.exactOptional(),
          previous: shape.someOf(sealKey, 'keys', 'key').exactOptional(),
        })
        .exactOptional(),
      name: shape.oneLine.exactOptional(),
    },
    ['mcpServers'],
  ),
);

/** The result of reading a file of either dialect; absent members have a default. */
export interface ConfigReading {
  readonly listen?: Partial<ListenSettings> | undefined;
  readonly backends: readonly BackendConfig[];
  readonly services?: readonly ServiceConfig[];
  /** For all endpoints of a backend. */
  readonly overrides?: readonly BackendOverrides[];
  readonly endpoints?: Config['endpoints'] | undefined;
  readonly limits?: Limits;
  /** The settings that are taken as they are written. */
  readonly settings?:
    | Pick<z.infer<ReturnType<typeof fileShape>>, 'log' | 'watch' | 'seal' | 'traces' | 'name' | 'extensions'>
    | undefined;
  /** Its directory is absent where it is the usual one. */
  readonly store?: Partial<Config['store']> | undefined;
  readonly replicas?: Config['replicas'] | undefined;
  /** Absent if it is invalid and reported, or if the dialect has none. */
  readonly identity?: IdentityReading | undefined;
  readonly policy?: Config['policy'] | undefined;
  readonly rates?: Config['rates'];
  readonly audit?: Config['audit'] | undefined;
  readonly rehearsal?: Config['rehearsal'] | undefined;
  readonly pins?: Config['pins'] | undefined;
  readonly metrics?: Config['metrics'] | undefined;
  readonly console?: ConsoleReading | undefined;
  readonly proxy?: ProxyConfig | undefined;
  readonly disabled?: readonly string[];
  readonly notices: readonly string[];
}

/** Names are part of paths and of tool names. */
const backendName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/;

export function readOwn(document: ConfigDocument, directory: string, variables: Variables): ConfigReading {
  const keys = document.keys([]);
  if (keys?.includes('mcpServers')) {
    const expected = '`backends` instead; `mcpServers` belongs in files that end in .json';
    document.reportKey(['mcpServers'], { message: '`mcpServers` is not a setting of bascule.yaml', expected });
  }
  // Backends are read one by one: a variable that only a disabled backend uses may be unset.
  const section = (key: string) => (key === 'backends' ? shallow(document, key) : document.read([key], variables));
  const top = keys === undefined ? document.read([]) : Object.fromEntries(keys.map((key) => [key, section(key)]));
  const settings = check(document, [], top, fileShape());
  const limits = readLimits(document, variables);
  const identity = readIdentity(document, directory, variables);

  const notices: string[] = [];
  const names = document.keys(['backends']) ?? [];
  const services: ServiceConfig[] = [];
  const disabled: string[] = [];
  const overrides: BackendOverrides[] = [];
  const backends = names.flatMap((name): BackendConfig[] => {
    const path = ['backends', name];
    const isNamed = backendName.test(name);
    if (!isNamed) {
      const expected = 'up to 64 letters, digits, dots, dashes and underscores';
      document.reportKey(path, { message: `\`${name}\` can't be the name of a backend`, expected });
    }
    if (isDisabled(document, path, variables)) {
      notices.push(`backend \`${name}\` is disabled and is ignored`);
      disabled.push(name);
      return [];
    }
    const draft = readBackend(document, path, name, { variables, directory });
    if (draft === undefined || !isNamed) return [];
    if (draft.overrides !== undefined) overrides.push(draft.overrides);
    if (!isService(document, path, variables)) return [buildBackend(draft, directory, limits)];
    services.push(buildService(draft, directory));
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
  const places = endpoints ?? defaultEndpoints([...built], (identity ?? withoutIdentity).guard);
  const world = {
    endpoints: places.map(({ path }) => path),
    backends: [...built, ...served],
    callers: identity && callersOf(identity.settings, identity.authServer),
  };
  notices.push(...unreachedServices(served, places));
  const store = settings && readStore(document, settings, directory);
  return {
    listen: readListen(document, directory, variables),
    backends,
    overrides,
    services,
    endpoints,
    limits,
    identity,
    policy: readPolicy(document, variables, world),
    rates: readRates(document, variables, world),
    audit: readAudit(document, directory, variables),
    rehearsal: readRehearsal(document, directory, variables),
    pins: readPins(document, directory, variables),
    metrics: readMetrics(document, variables),
    console: readConsole(document, variables, world),
    proxy: readProxy(document, variables),
    disabled,
    settings,
    store,
    replicas: settings && readReplicas(document, settings.replicas, store),
    notices,
  };
}

function shallow(document: ConfigDocument, key: string): unknown {
  const names = document.keys([key]);
  return names === undefined ? document.read([key]) : Object.fromEntries(names.map((name) => [name, true]));
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
    document.report(['limits', name], { message: `\`${name}\` is higher than \`${other}\``, expected });
  }
  return limits;
}
