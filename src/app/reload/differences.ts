/** Diff of two configs, for people: what a reload has changed, and what needs a restart. */
import type { BackendConfig, Config } from '../../config/config.ts';
import { isSame } from './is-same.ts';

export interface Differences {
  /** One sentence for each change. Empty where nothing has changed. */
  readonly told: readonly string[];
  /** Settings that keep their old values until a restart. */
  readonly needRestart: readonly string[];
}

export function differences(before: Config, next: Config): Differences {
  const told = [
    ...tell('backend', before.backends, next.backends, ({ name }) => name, isSameBackend),
    ...tell('service', before.services, next.services, ({ name }) => name, isSame),
    ...tell('endpoint', before.endpoints, next.endpoints, ({ path }) => path, isSame),
    ...whole.flatMap((key) => (isSame(before[key], next[key]) ? [] : [`${key} changed`])),
    ...(isSame(profilesOf(before), profilesOf(next)) ? [] : ['profiles of backends changed']),
    ...(isSame(admitting(before), admitting(next)) ? [] : ['allowed origins or hosts changed']),
  ];
  return { told, needRestart: needingRestart(before, next) };
}

/** Sections that are replaced as a whole. */
const whole = [
  'policy',
  'rates',
  'identity',
  'audit',
  'pins',
  'rehearsal',
  'operators',
  'watch',
] as const satisfies readonly (keyof Config)[];

interface RestartSettings {
  readonly section:
    | 'listen'
    | 'limits'
    | 'log'
    | 'metrics'
    | 'seal'
    | 'store'
    | 'replicas'
    | 'authServer'
    | 'traces'
    | 'console'
    | 'proxy'
    | 'instance';
  /** Absent: all of the section. */
  readonly keys?: readonly string[];
  /** What the whole section is called in the file, where its keys are not named one by one. */
  readonly name?: string;
  readonly why: string;
}

/** What was used at start and cannot be changed afterwards. docs/configuration.md has the same table. */
export const restartSettings: readonly RestartSettings[] = [
  { section: 'listen', keys: ['host', 'port', 'socket', 'tls', 'openToNetwork'], why: 'the port is bound at start' },
  { section: 'limits', why: 'objects that live as long as the process were made with them' },
  { section: 'log', why: 'the log is opened at start' },
  { section: 'metrics', why: 'the port is bound at start' },
  { section: 'seal', why: 'what was sealed with one key cannot be opened with another' },
  { section: 'instance', name: 'name', why: 'the ids of open sessions are bound to it' },
  { section: 'store', why: 'the records in use are there' },
  { section: 'replicas', name: 'replicas', why: 'the port is bound at start' },
  { section: 'traces', name: 'traces', why: 'the exporter is made at start' },
  { section: 'authServer', name: 'identity.authServer', why: 'its issuer and its keys are made at start' },
  { section: 'console', name: 'console', why: 'it listens and records from the start on; who may use it is reloaded' },
  { section: 'proxy', name: 'proxy', why: 'the port is bound at start; which backends it serves is reloaded' },
];

function needingRestart(before: Config, next: Config): readonly string[] {
  return restartSettings.flatMap(({ section, keys, name }) => {
    const [was, is] = [entriesIn(before, section), entriesIn(next, section)];
    if (name !== undefined) return isSame(was, is) ? [] : [name];
    const changed = (keys ?? Object.keys({ ...was, ...is })).filter((key) => !isSame(was[key], is[key]));
    return changed.map((key) => `${section}.${key}`);
  });
}

/** The next config, with the old values of settings that need a restart. */
export function withoutRestart(before: Config, next: Config): Config {
  const kept = restartSettings.map(({ section, keys }) => {
    const was = entriesIn(before, section);
    const old = keys?.map((key) => [key, was[key]] as const);
    return [section, old === undefined ? before[section] : { ...next[section], ...Object.fromEntries(old) }] as const;
  });
  // An unchanged endpoint stays the same object, so that what was made for it is kept.
  const known = new Map(before.endpoints.map((endpoint) => [endpoint.path, endpoint]));
  const endpoints = next.endpoints.map((endpoint) => {
    const old = known.get(endpoint.path);
    return old !== undefined && isSame(old, endpoint) ? old : endpoint;
  });
  return { ...next, ...Object.fromEntries(kept), endpoints };
}

function entriesIn(config: Config, section: RestartSettings['section']): Readonly<Record<string, unknown>> {
  return { ...config[section] };
}

/**
 * What a backend may ask is checked by the gateway, so changing that is no reason to restart the backend. Different
 * revisions are.
 */
export function isSameBackend({ profile: was, ...a }: BackendConfig, { profile: is, ...b }: BackendConfig): boolean {
  return isSame(a, b) && isSame(was?.revisions, is?.revisions);
}

function profilesOf({ backends }: Config): readonly unknown[] {
  return backends.flatMap(({ name, profile }) => (profile === undefined ? [] : [{ name, profile }]));
}

function admitting({ listen: { allowedOrigins, allowedHosts, trustedProxies } }: Config): object {
  return { allowedOrigins, allowedHosts, trustedProxies };
}

function tell<T>(
  what: string,
  before: readonly T[],
  next: readonly T[],
  nameOf: (one: T) => string,
  same: (a: T, b: T) => boolean,
): readonly string[] {
  const old = new Map(before.map((one) => [nameOf(one), one]));
  const names = new Set(next.map(nameOf));
  const isChanged = (one: T): boolean => {
    const was = old.get(nameOf(one));
    return was !== undefined && !same(was, one);
  };
  const added = next.filter((one) => !old.has(nameOf(one))).map(nameOf);
  const removed = [...old.keys()].filter((name) => !names.has(name));
  const changed = next.filter(isChanged).map(nameOf);
  const told = { added, removed, changed };
  return Object.entries(told).flatMap(([how, named]) => named.map((name) => `${what} \`${name}\` ${how}`));
}
