/**
 * Changes of lists, to everybody whom they concern: what modern backends tell, on one stream for all, and backends that go
 * away and come back. What a legacy backend tells goes to the session that it was told to, and does not come this way.
 */
import type { Shelf } from '../catalog/shelf.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Backends } from '../exchange/backends.ts';
import { Listening } from '../exchange/bridge/listening.ts';
import { changedList, isEmpty, type ListKind, listKinds, offeredLists } from '../exchange/bridge/subscriptions.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Backend, BackendState, Discovery } from '../exchange/lane.ts';
import { ourselves } from '../exchange/own-call.ts';
import { systemPermit } from '../policy/permit.ts';
import { callStateless } from './reading.ts';

/** `backend` is undefined where it is no single one: the endpoint, or what is shown of it, is another than before. */
export type HearChange = (backend: string | undefined, kind: ListKind) => void;

interface Hearer {
  readonly place: Endpoint;
  readonly hear: HearChange;
  readonly gone: ((backend: string) => void) | undefined;
}

interface Watch {
  listening: Listening | undefined;
  /** The capabilities that it had before. */
  had: Readonly<Record<string, unknown>>;
  readonly stop: () => void;
}

export class Hub {
  readonly #backends: Backends;
  readonly #shelf: Shelf;
  readonly #clock: Clock;
  readonly #hearers = new Set<Hearer>();
  readonly #watches = new Map<string, Watch>();

  constructor(backends: Backends, shelf: Shelf, clock: Clock) {
    this.#backends = backends;
    this.#shelf = shelf;
    this.#clock = clock;
  }

  /** Tells of changes at the backends of a place from now on, and of backends that are gone. Returns how to stop. */
  hear(place: Endpoint, hear: HearChange, gone?: (backend: string) => void): () => void {
    for (const name of place.backends) this.watch(name);
    const hearer = { place, hear, gone };
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  /** A backend is watched from the first time that somebody wants to know what it has. */
  watch(name: string): void {
    const backend = this.#backends.get(name);
    if (backend === undefined || this.#watches.has(name)) return;
    const watch: Watch = {
      listening: undefined,
      had: backend.lastDiscovery?.capabilities ?? {},
      stop: backend.onChange((state) => this.#became(backend, watch, state)),
    };
    this.#watches.set(name, watch);
    if (backend.state.state === 'ready') this.#listen(backend, watch, backend.state.discovery);
  }

  /** It is no longer there, or another one under the same name. */
  retire(name: string): void {
    const watch = this.#watches.get(name);
    watch?.stop();
    watch?.listening?.close();
    this.#watches.delete(name);
    for (const { gone } of [...this.#hearers]) gone?.(name);
  }

  /** Places may have other backends than before. */
  renewed(lists: ReadonlyMap<string, readonly ListKind[]>): void {
    for (const { place, hear } of [...this.#hearers]) {
      for (const name of place.backends) this.watch(name);
      for (const kind of lists.get(place.path) ?? []) hear(undefined, kind);
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
      if (kind.capability in has || kind.capability in watch.had) this.#changed(backend.name, kind);
    }
    watch.had = has;
  }

  #listen(backend: Backend, watch: Watch, { eras, capabilities }: Discovery): void {
    const wanted = offeredLists(capabilities);
    if (!eras.includes('modern') || isEmpty(wanted)) return;
    let heardBefore = false;
    watch.listening = new Listening(wanted, {
      client: ourselves,
      clock: this.#clock,
      start: (request, sink) => callStateless(backend.modern, systemPermit('stream'), request, sink),
      deliver: (_message, said) => {
        const kind = changedList(said.method);
        if (kind !== undefined) this.#changed(backend.name, kind);
      },
      opened: () => {
        if (heardBefore) for (const kind of listKinds) if (wanted[kind.flag]) this.#changed(backend.name, kind);
        heardBefore = true;
      },
    });
  }

  #changed(backend: string, kind: ListKind): void {
    this.#shelf.changed(backend, kind.lists);
    for (const { place, hear } of [...this.#hearers]) if (place.backends.includes(backend)) hear(backend, kind);
  }
}
