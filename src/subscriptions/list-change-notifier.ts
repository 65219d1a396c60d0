/**
 * Distributes list changes to all clients concerned: those of modern backends, which come on one stream per backend,
 * and those caused by backends that go away or come back. List changes of a legacy backend go directly to the session
 * that received them.
 */
import type { ListCache } from '../catalog/list-cache.ts';
import { callStateless, listsOwner } from '../catalog/readers.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import { ourselves } from '../exchange/own-call.ts';
import type { Backend, BackendState, Discovery } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import type { CurrentBackends } from '../upstream/backends.ts';
import type { MethodRow } from '../wire/methods.ts';
import { changedList, isEmpty, type ListKind, listKinds, offeredLists } from '../wire/subscription-filter.ts';
import { UpstreamSubscription } from './upstream-subscription.ts';

/**
 * `backend` is undefined where the change concerns no single backend: the endpoint itself, or what it shows, has
 * changed.
 */
export type HearChange = (backend: string | undefined, kind: ListKind) => void;

interface Hearer {
  readonly place: Endpoint;
  readonly principal: Principal;
  readonly hear: HearChange;
  readonly gone: ((backend: string) => void) | undefined;
  /** The watches that it listens to. A watch lasts while it has listeners, or while cached lists depend on it. */
  readonly watches: Set<Watch>;
}

interface Watch {
  readonly backend: string;
  /** The principal that its changes concern; undefined: all principals. */
  readonly principal: string | undefined;
  hearers: number;
  /** Lists of the backend are cached, so the watch is needed even without listeners. */
  isKept: boolean;
  listening: UpstreamSubscription | undefined;
  /** The backend's capabilities before the last change. */
  had: Readonly<Record<string, unknown>>;
  readonly stop: () => void;
}

export class ListChangeNotifier {
  readonly #currentGeneration: CurrentBackends;
  readonly #listCache: ListCache;
  readonly #clock: Clock;
  readonly #hearers = new Set<Hearer>();
  readonly #watches = new Map<string, Watch>();

  constructor(currentGeneration: CurrentBackends, listCache: ListCache, clock: Clock) {
    this.#currentGeneration = currentGeneration;
    this.#listCache = listCache;
    this.#clock = clock;
  }

  /** Reports changes at the backends of an endpoint, and backends that are gone. Returns how to stop. */
  hear(place: Endpoint, principal: Principal, hear: HearChange, gone?: (backend: string) => void): () => void {
    const hearer: Hearer = { place, principal, hear, gone, watches: new Set() };
    this.#watchFor(hearer);
    this.#hearers.add(hearer);
    return () => {
      this.#hearers.delete(hearer);
      for (const watch of hearer.watches) {
        watch.hearers -= 1;
        if (watch.hearers === 0 && !watch.isKept) this.#end(watch);
      }
    };
  }

  /** Watches a backend from the first read of its lists on. */
  watch(name: string): void {
    const backend = this.#currentGeneration.now.backends.get(name);
    if (backend === undefined || backend.ownOf !== undefined) return;
    const watch = this.#watches.get(name) ?? this.#watch(name, backend, undefined);
    watch.isKept = true;
  }

  /** Part of a list came too late for this principal's request, and is available now. */
  late(backend: string, { method }: MethodRow, { key }: Principal): void {
    const kind = listKinds.find(({ lists }) => (lists as readonly string[]).includes(method));
    if (kind === undefined) return;
    for (const { place, principal, hear } of [...this.#hearers])
      if (principal.key === key && place.backends.includes(backend)) hear(backend, kind);
  }

  #watchFor(hearer: Hearer): void {
    const { place, principal, watches } = hearer;
    for (const name of place.backends) {
      const backend = this.#currentGeneration.now.backends.of(name, principal);
      if (backend === undefined) continue;
      // Where principals present credentials of their own, each has a watch of its own.
      const isOwn = this.#currentGeneration.now.backends.get(name)?.ownOf !== undefined;
      const key = isOwn ? keyOf(name, principal.key) : name;
      const watch = this.#watches.get(key) ?? this.#watch(key, backend, isOwn ? principal.key : undefined);
      if (watches.has(watch)) continue;
      watches.add(watch);
      watch.hearers += 1;
    }
  }

  #watch(key: string, backend: Backend, principal: string | undefined): Watch {
    const watch: Watch = {
      backend: backend.name,
      principal,
      hearers: 0,
      isKept: false,
      listening: undefined,
      had: backend.lastDiscovery?.capabilities ?? {},
      stop: this.#follow(backend, (state) => this.#became(backend, watch, state)),
    };
    this.#watches.set(key, watch);
    if (backend.state.state === 'ready') this.#listen(backend, watch, backend.state.discovery);
    return watch;
  }

  /** Lists read from list processes stay cached until one of those processes reports a change. */
  #follow(backend: Backend, became: (state: BackendState) => void): () => void {
    const stopState = backend.onChange(became);
    const stopLists = backend.lists?.onChange((key, kinds) => {
      const methods = kinds.flatMap(({ lists }) => [...lists]);
      this.#listCache.changed(backend.name, methods, listsOwner(key));
    });
    return () => {
      stopState();
      stopLists?.();
    };
  }

  #end(watch: Watch): void {
    watch.stop();
    watch.listening?.close();
    const key = watch.principal === undefined ? watch.backend : keyOf(watch.backend, watch.principal);
    // A new watch may have replaced it since.
    if (this.#watches.get(key) === watch) this.#watches.delete(key);
  }

  /** The backend was removed, or replaced under the same name. */
  retire(name: string): void {
    for (const watch of [...this.#watches.values()]) if (watch.backend === name) this.#end(watch);
    for (const { gone } of [...this.#hearers]) gone?.(name);
  }

  /** Endpoints may have different backends than before. */
  renewed(lists: ReadonlyMap<string, readonly ListKind[]>): void {
    for (const hearer of [...this.#hearers]) {
      this.#watchFor(hearer);
      for (const kind of lists.get(hearer.place.path) ?? []) hearer.hear(undefined, kind);
    }
  }

  close(): void {
    for (const watch of this.#watches.values()) this.#end(watch);
    this.#hearers.clear();
  }

  /** When a backend goes away or comes back, all its lists change. */
  #became(backend: Backend, watch: Watch, state: BackendState): void {
    watch.listening?.close();
    watch.listening = undefined;
    if (state.state === 'ready') this.#listen(backend, watch, state.discovery);
    const has = backend.lastDiscovery?.capabilities ?? {};
    for (const kind of listKinds) {
      if (kind.capability in has || kind.capability in watch.had) this.#changed(watch, kind);
    }
    watch.had = has;
  }

  #listen(backend: Backend, watch: Watch, { eras, capabilities }: Discovery): void {
    const wanted = offeredLists(capabilities);
    if (!eras.includes('modern') || isEmpty(wanted)) return;
    let heardBefore = false;
    watch.listening = new UpstreamSubscription(wanted, {
      client: ourselves,
      clock: this.#clock,
      start: (request, sink) => callStateless(backend.modern, systemPermit('stream'), request, sink),
      deliver: (_message, said) => {
        const kind = changedList(said.method);
        if (kind !== undefined) this.#changed(watch, kind);
      },
      opened: () => {
        if (heardBefore) for (const kind of listKinds) if (wanted[kind.flag]) this.#changed(watch, kind);
        heardBefore = true;
      },
    });
  }

  #changed({ backend, principal: whose }: Watch, kind: ListKind): void {
    this.#listCache.changed(backend, kind.lists);
    for (const { place, principal, hear } of [...this.#hearers]) {
      const isConcerned = whose === undefined || whose === principal.key;
      if (isConcerned && place.backends.includes(backend)) hear(backend, kind);
    }
  }
}

/** No backend has a NUL in its name, so keys are unambiguous. */
function keyOf(backend: string, principal: string): string {
  return `${backend}\0${principal}`;
}
