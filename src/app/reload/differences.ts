/** Diff of two configs: what to apply, and what to report. */
import type { BackendConfig, Config, ServiceConfig } from '../../config/config.ts';
import { limitNames } from '../../config/limits.ts';
import { isSame } from './is-same.ts';

export interface Differences {
  readonly backends: Changed<BackendConfig>;
  readonly services: Changed<ServiceConfig>;
  /** By path. */
  readonly endpoints: Changed<string>;
  /** Paths whose clients cannot stay: the path is removed, or has a different protocol now. */
  readonly closed: readonly string[];
  readonly policy: boolean;
  readonly identity: boolean;
  /** One sentence for each change, for people. Empty where nothing has changed. */
  readonly told: readonly string[];
  /** Settings that keep their old values until a restart. */
  readonly needRestart: readonly string[];
}

export interface Changed<T> {
  readonly added: readonly T[];
  readonly removed: readonly string[];
  readonly changed: readonly T[];
}

export function differences(before: Config, next: Config): Differences {
  const backends = changedIn(before.backends, next.backends, ({ name }) => name, isSameBackend);
  const services = changedIn(before.services, next.services, ({ name }) => name, isSame);
  const places = changedIn(before.endpoints, next.endpoints, ({ path }) => path, isSame);
  const endpoints = {
    added: places.added.map(({ path }) => path),
    removed: places.removed,
    changed: places.changed.map(({ path }) => path),
  };
  const protocols = new Map(before.endpoints.map(({ path, protocol }) => [path, protocol]));
  const others = places.changed.filter(({ path, protocol }) => protocols.get(path) !== protocol);
  const has = (key: (typeof whole)[number]['key']) => !isSame(before[key], next[key]);
  const told = [
    ...tell('backend', backends, ({ name }) => name),
    ...tell('service', services, ({ name }) => name),
    ...tell('endpoint', endpoints, (path) => path),
    ...whole.flatMap(({ key, text }) => (has(key) ? [text] : [])),
    ...(isSame(profilesOf(before), profilesOf(next)) ? [] : ['what backends may do changed']),
    ...(isSame(admitting(before), admitting(next)) ? [] : ['allowed origins or hosts changed']),
  ];
  return {
    backends,
    services,
    endpoints,
    closed: [...places.removed, ...others.map(({ path }) => path)],
    policy: has('policy'),
    identity: has('identity'),
    told,
    needRestart: needingRestart(before, next),
  };
}

/** Sections that are replaced as a whole. */
const whole = [
  { key: 'policy', text: 'policy changed' },
  { key: 'rates', text: 'rates changed' },
  { key: 'identity', text: 'identity changed' },
  { key: 'audit', text: 'audit changed' },
  { key: 'watch', text: 'watch changed' },
] as const satisfies readonly { key: keyof Config; text: string }[];

/**
 * Settings that were used at start and cannot be changed afterwards: the port is bound, and what is sealed with one key
 * cannot be opened with a different one.
 */
function needingRestart(before: Config, next: Config): readonly string[] {
  const listen = (['host', 'port', 'openToNetwork'] as const).filter((key) => before.listen[key] !== next.listen[key]);
  const limits = limitNames.filter((name) => before.limits[name] !== next.limits[name]);
  return [
    ...listen.map((key) => `listen.${key}`),
    ...limits.map((name) => `limits.${name}`),
    ...(before.log.level === next.log.level ? [] : ['log.level']),
    ...(before.log.format === next.log.format ? [] : ['log.format']),
    ...(before.seal.key === next.seal.key ? [] : ['seal.key']),
    ...(before.store.dir === next.store.dir ? [] : ['store.dir']),
    ...(isSame(before.authServer, next.authServer) ? [] : ['identity.authServer']),
  ];
}

/** The next config, with the old values of settings that need a restart. */
export function withoutRestart(before: Config, next: Config): Config {
  const { host, port, openToNetwork } = before.listen;
  const { limits, log, seal, store, authServer } = before;
  // An unchanged endpoint stays the same object, so that what was made for it is kept.
  const kept = new Map(before.endpoints.map((endpoint) => [endpoint.path, endpoint]));
  const endpoints = next.endpoints.map((endpoint) => {
    const old = kept.get(endpoint.path);
    return isSame(old, endpoint) ? (old ?? endpoint) : endpoint;
  });
  const { authServer: _changed, ...rest } = next;
  const listen = { ...next.listen, host, port, openToNetwork };
  return { ...rest, ...(authServer && { authServer }), listen, limits, log, seal, store, endpoints };
}

/**
 * What a backend may ask is checked by the gateway, so changing that is no reason to restart the backend. Different
 * revisions are.
 */
function isSameBackend({ profile: was, ...a }: BackendConfig, { profile: is, ...b }: BackendConfig): boolean {
  return isSame(a, b) && isSame(was?.revisions, is?.revisions);
}

function profilesOf({ backends }: Config): readonly unknown[] {
  return backends.flatMap(({ name, profile }) => (profile === undefined ? [] : [{ name, profile }]));
}

function admitting({ listen: { allowedOrigins, allowedHosts, trustedProxies } }: Config): object {
  return { allowedOrigins, allowedHosts, trustedProxies };
}

function changedIn<T>(
  before: readonly T[],
  next: readonly T[],
  nameOf: (one: T) => string,
  same: (a: T, b: T) => boolean,
): Changed<T> {
  const old = new Map(before.map((one) => [nameOf(one), one]));
  const names = new Set(next.map(nameOf));
  const isChanged = (one: T): boolean => {
    const was = old.get(nameOf(one));
    return was !== undefined && !same(was, one);
  };
  return {
    added: next.filter((one) => !old.has(nameOf(one))),
    removed: [...old.keys()].filter((name) => !names.has(name)),
    changed: next.filter(isChanged),
  };
}

function tell<T>(what: string, { added, removed, changed }: Changed<T>, nameOf: (one: T) => string): readonly string[] {
  return [
    ...added.map((one) => `${what} \`${nameOf(one)}\` added`),
    ...removed.map((name) => `${what} \`${name}\` removed`),
    ...changed.map((one) => `${what} \`${nameOf(one)}\` changed`),
  ];
}
