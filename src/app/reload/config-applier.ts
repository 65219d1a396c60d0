/**
 * Applies a new config: builds the next generation, which may fail and then changes nothing; swaps it in, so no request
 * sees a part of it; lets it decide about sessions, streams and pending calls; and retires the one before. The two
 * steps are apart, because several workers apply a config only where each of them can.
 */
import type { Config } from '../../config/config.ts';
import type { Endpoint } from '../../exchange/arrival.ts';
import type { McpGateway } from '../../pipeline/gateway.ts';
import type { CurrentGeneration, Generation } from '../../pipeline/generation.ts';
import type { Backends } from '../../upstream/backends.ts';
import { type ListKind, listKinds, offeredLists } from '../../wire/subscription-filter.ts';
import type { BuiltGeneration } from '../build-generation.ts';
import type { RetiredGenerations } from '../retired-generations.ts';
import { isSame } from './is-same.ts';

export interface ConfigApplierParts {
  readonly build: (config: Config, before: BuiltGeneration) => BuiltGeneration;
  readonly currentGeneration: CurrentGeneration<BuiltGeneration>;
  readonly gateway: Pick<McpGateway, 'renew'>;
  readonly retired: Pick<RetiredGenerations, 'retire' | 'discard'>;
}

/** A config whose generation is built and not in force. One of these is called, once, before another is prepared. */
export interface PreparedConfig {
  commit(): void;
  abandon(): void;
}

export function prepareConfig(config: Config, parts: ConfigApplierParts): PreparedConfig {
  const before = parts.currentGeneration.now;
  const next = parts.build(config, before);
  return { commit: () => putInForce(next, before, parts), abandon: () => parts.retired.discard(next, before) };
}

function putInForce(next: BuiltGeneration, before: BuiltGeneration, parts: ConfigApplierParts): void {
  const { currentGeneration, gateway, retired } = parts;
  const gone = [...before.backends].filter((backend) => next.backends.get(backend.name) !== backend);
  const goneNames = new Set(gone.map(({ name }) => name));
  currentGeneration.swap(next);
  gateway.renew({
    gone: goneNames,
    closed: closedPaths(before, next),
    lists: changedLists(before, next, goneNames),
    isWelcome: (path, principal) => next.authenticator.admits(path, principal),
  });
  retired.retire(before, next);
  if (next.recording !== before.recording) void before.recording?.file.close();
  if (next.audit !== before.audit) void next.audit?.probe();
  // Discover new backends now, so that people see their state and the first client need not wait. A failure becomes a
  // state.
  for (const backend of next.backends)
    if (before.backends.get(backend.name) !== backend) backend.discover().catch(() => undefined);
}

/** Paths whose clients cannot stay: the path is removed, or has a different protocol now. */
function closedPaths(before: Generation, next: Generation): ReadonlySet<string> {
  const isClosed = ({ path, protocol }: Endpoint) => {
    const now = next.endpoints.get(path);
    return now === undefined || now.protocol !== protocol;
  };
  return new Set([...before.endpoints.values()].filter(isClosed).map(({ path }) => path));
}

/** By path: the lists that may have changed for clients that are connected already. */
function changedLists(
  before: Generation,
  next: Generation,
  gone: ReadonlySet<string>,
): ReadonlyMap<string, readonly ListKind[]> {
  const isShownAlike = isSame(before.config.policy, next.config.policy) && isSame(before.config.pins, next.config.pins);
  const lists = new Map<string, readonly ListKind[]>();
  for (const endpoint of next.endpoints.values()) {
    const was = before.endpoints.get(endpoint.path);
    if (was === undefined) continue;
    const hasOthers = endpoint.backends.some((name) => gone.has(name));
    if (!isShownAlike || hasOthers || !isListedAlike(was, endpoint))
      lists.set(endpoint.path, kindsAt(was, endpoint, before.backends));
  }
  return lists;
}

function isListedAlike(a: Endpoint, b: Endpoint): boolean {
  return (
    isSame(a.backends, b.backends) &&
    isSame(a.overrides, b.overrides) &&
    a.names === b.names &&
    a.profile.toolNames === b.profile.toolNames
  );
}

/**
 * The kinds of list changes that clients of the endpoint expect: a single backend declares them itself, for several the
 * gateway does.
 */
function kindsAt(was: Endpoint, endpoint: Endpoint, backends: Backends): readonly ListKind[] {
  const capabilitiesOf = (name: string) => backends.get(name)?.lastDiscovery?.capabilities ?? {};
  const [only = ''] = was.backends;
  if (was.backends.length === 1) return listKinds.filter(({ flag }) => offeredLists(capabilitiesOf(only))[flag]);
  const all = new Set([...was.backends, ...endpoint.backends]);
  return listKinds.filter(({ capability }) => [...all].some((name) => capability in capabilitiesOf(name)));
}
