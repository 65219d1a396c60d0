/**
 * Changes of lists, to everybody whom they concern: what modern backends tell, on one stream for all, and backends that go
 * away and come back. What a legacy backend tells goes to the session that it was told to, and does not come this way.
 */
import type { ListCache } from '../catalog/list-cache.ts';
import { callStateless, listsOwner } from '../catalog/readers.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import { ourselves } from '../exchange/own-call.ts';
import type { Backend, BackendState, Discovery } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import type { Backends } from '../upstream/backends.ts';
import type { MethodRow } from '../wire/methods.ts';
import { changedList, isEmpty, type ListKind, listKinds, offeredLists } from '../wire/subscription-filter.ts';
import { UpstreamSubscription } from './upstream-subscription.ts';

/** `backend` is undefined where it is no single one: the endpoint, or what is shown of it, is another than before. */
export type HearChange = (backend: string | undefined, kind: ListKind) => void;

interface Hearer {
  readonly place: Endpoint;
  readonly principal: Principal;
  readonly hear: HearChange;
  readonly gone: ((backend: string) => void) | undefined;
  /** The watches that it hears. A watch lasts while there is one who hears it, or lists are kept for which it is needed. */
  readonly watches: Set<Watch>;
}

interface Watch {
  readonly backend: string;
  /** Whom its changes concern; undefined: everybody. */
  readonly principal: string | undefined;
  hearers: number;
  /** Lists of the backend are kept: it is needed whether or not anybody hears. */
  isKept: boolean;
  listening: UpstreamSubscription | undefined;
  /** The capabilities that it had before. */
  had: Readonly<Record<string, unknown>>;
  readonly stop: () => void;
}

export class ListChangeNotifier {
  readonly #backends: Backends;
  readonly #listCache: ListCache;
  readonly #clock: Clock;
  readonly #hearers = new Set<Hearer>();
  readonly #watches = new Map<string, Watch>();

  constructor(backends: Backends, listCache: ListCache, clock: Clock) {
    this.#backends = backends;
    this.#listCache = listCache;
    this.#clock = clock;
  }

  /** Tells of changes at the backends of a place from now on, and of backends that are gone. Returns how to stop. */
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

  /** A backend is watched from the first time that somebody wants to know what it has. */
  watch(name: string): void {
    const backend = this.#backends.get(name);
    if (backend === undefined || backend.ownOf !== undefined) return;
    const watch = this.#watches.get(name) ?? this.#watch(name, backend, undefined);
    watch.isKept = true;
  }

  /** What a list of this principal lacked, because it took too long, is there now. */
  late(backend: string, { method }: MethodRow, { key }: Principal): void {
    const kind = listKinds.find(({ lists }) => (lists as readonly string[]).includes(method));
    if (kind === undefined) return;
    for (const { place, principal, hear } of [...this.#hearers])
      if (principal.key === key && place.backends.includes(backend)) hear(backend, kind);
  }

  #watchFor(hearer: Hearer): void {
    const { place, principal, watches } = hearer;
    for (const name of place.backends) {
      const backend = this.#backends.of(name, principal);
      if (backend === undefined) continue;
      // Where each principal presents something of its own, each has a watch of its own.
      const isOwn = this.#backends.get(name)?.ownOf !== undefined;
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

  /** Also what is read in processes that serve lists is good until one of them tells of a change. */
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
    // Another may be there in its place since.
    if (this.#watches.get(key) === watch) this.#watches.delete(key);
  }

  /** It is no longer there, or another one under the same name. */
  retire(name: string): void {
    for (const watch of [...this.#watches.values()]) if (watch.backend === name) this.#end(watch);
    for (const { gone } of [...this.#hearers]) gone?.(name);
  }

  /** Places may have other backends than before. */
  renewed(lists: ReadonlyMap<string, readonly ListKind[]>): void {
    for (const hearer of [...this.#hearers]) {
      this.#watchFor(hearer);
      for (const kind of lists.get(hearer.place.path) ?? []) hearer.hear(undefined, kind);
    }
  }

  close(): void {
    for (const { listening, stop } of this.#watches.values()) {
      stop();
      listening?.close();
    }
    this.#watches.clear();
    this.#hearers.clear();
  }

  /** With a backend all that it has comes or goes. */
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

/** No backend has a NUL in its name. */
function keyOf(backend: string, principal: string): string {
  return `${backend}\0${principal}`;
}
