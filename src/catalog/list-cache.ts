/**
 * Caches the lists of backends for as long as they are fresh. A backend may show different lists to different
 * principals or sessions: a list belongs to its owner, unless the backend declares it public.
 */
import type { Entry } from './entries.ts';
import type { BackendList } from './view.ts';

export interface ListKey {
  readonly backend: string;
  readonly method: string;
  /** Who the list is shown to: a principal, a session, or a pool of sessions. */
  readonly owner: string;
  /** The extensions that the list was read with, as one text. Empty: none. */
  readonly extensions: string;
}

/** The result of reading a list. */
export interface ReadResult {
  readonly entries: readonly Entry[];
  /** How long the list is fresh. A list change ends that sooner. */
  readonly goodMs: number;
  /** The `ttlMs` that clients get. */
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
  readonly runsTasks?: boolean | undefined;
}

export interface KeptList extends BackendList, ReadResult {
  /** Different for every read. */
  readonly version: number;
  readonly readAt: number;
}

interface PendingRead {
  readonly owner: string;
  readonly list: Promise<KeptList>;
  readonly since: number;
  /** The list changed while it was being read. */
  changed: boolean;
}

interface CachedList {
  readonly owner: string;
  readonly list: KeptList;
  readonly bytes: number;
  changed: boolean;
}

const everybody = '';
/** What an entry costs besides its bytes. */
const ENTRY_OVERHEAD = 200;

export class ListCache {
  /** Bytes of all lists together. The least recently used list is evicted first. */
  readonly #mostBytes: number;
  readonly #now: () => number;
  /** In order of use. */
  readonly #kept = new Map<string, CachedList>();
  readonly #reading = new Map<string, PendingRead>();
  #bytes = 0;
  #versions = 0;
  #changes = 0;

  constructor({ listCacheBytes }: { readonly listCacheBytes: number }, now: () => number) {
    this.#mostBytes = listCacheBytes;
    this.#now = now;
  }

  /** Increases with every change of the cache's content. Expiry does not count. */
  get changes(): number {
    return this.#changes;
  }

  /** Undefined if there is no fresh list, or it is older than `mostMs`. */
  fresh(key: ListKey, mostMs = Number.POSITIVE_INFINITY): KeptList | undefined {
    const found = this.#find(key);
    if (found === undefined || found.changed) return undefined;
    return this.#now() - found.list.readAt < Math.min(found.list.goodMs, mostMs) ? found.list : undefined;
  }

  /** The list that was last read, if no change was announced since, and it is at most this old. */
  recent(key: ListKey, mostMs: number): KeptList | undefined {
    const found = this.#find(key);
    return found === undefined || found.changed || this.#now() - found.list.readAt >= mostMs ? undefined : found.list;
  }

  /** The list that was last read, fresh or not. */
  last(key: ListKey): KeptList | undefined {
    return this.#find(key)?.list;
  }

  /** When the running read started that `take` would join; undefined if there is none. */
  readingSince(key: ListKey): number | undefined {
    const running = this.#reading.get(nameOf(key, key.owner));
    return running === undefined || running.changed ? undefined : running.since;
  }

  /** Returns the list that `fresh` finds, or reads it. Concurrent callers for the same list share one read. */
  take(key: ListKey, read: () => Promise<ReadResult>, mostMs?: number): Promise<KeptList> {
    const fresh = this.fresh(key, mostMs);
    if (fresh !== undefined) return Promise.resolve(fresh);
    const name = nameOf(key, key.owner);
    const running = this.#reading.get(name);
    // A change during the read may not be in its result.
    if (running !== undefined && !running.changed) return running.list;
    const reading: PendingRead = {
      owner: key.owner,
      list: read().then((list) => this.#keep(key, list, reading.changed)),
      since: this.#now(),
      changed: false,
    };
    this.#reading.set(name, reading);
    const done = () => {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    };
    reading.list.then(done, done);
    return reading.list;
  }

  /** The backend announced a change of these lists, to one owner or to all. */
  changed(backend: string, methods: readonly string[], owner?: string): void {
    this.#changes++;
    const marks = methods.map((method) => markOf(backend, method));
    for (const listCache of [this.#kept, this.#reading]) {
      for (const [name, entry] of listCache) {
        if (owner !== undefined && entry.owner !== owner && entry.owner !== everybody) continue;
        if (marks.some((mark) => name.startsWith(mark))) entry.changed = true;
      }
    }
  }

  /** Drops all lists of the backend, so that `last` finds none either. */
  forget(backend: string): void {
    this.#changes++;
    const mark = markOf(backend);
    for (const name of [...this.#kept.keys()]) if (name.startsWith(mark)) this.#drop(name);
    for (const [name, reading] of this.#reading) {
      if (!name.startsWith(mark)) continue;
      reading.changed = true;
      this.#reading.delete(name);
    }
  }

  #find(key: ListKey) {
    return this.#use(nameOf(key, everybody)) ?? this.#use(nameOf(key, key.owner));
  }

  #use(name: string) {
    const found = this.#kept.get(name);
    if (found === undefined) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, found);
    return found;
  }

  #keep(key: ListKey, read: ReadResult, changed: boolean): KeptList {
    const list: KeptList = { ...read, backend: key.backend, version: ++this.#versions, readAt: this.#now() };
    const owner = read.scope === 'public' ? everybody : key.owner;
    const name = nameOf(key, owner);
    const bytes = read.entries.reduce((sum, entry) => sum + entry.bytes.byteLength + ENTRY_OVERHEAD, ENTRY_OVERHEAD);
    this.#changes++;
    this.#drop(name);
    // The list was public before and no longer is.
    if (read.scope === 'private') this.#drop(nameOf(key, everybody));
    this.#kept.set(name, { owner, list, bytes, changed });
    this.#bytes += bytes;
    for (const oldest of [...this.#kept.keys()]) {
      if (this.#bytes <= this.#mostBytes || oldest === name) break;
      this.#drop(oldest);
    }
    return list;
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#kept.delete(name);
    this.#bytes -= kept.bytes;
  }
}

function nameOf({ backend, method, extensions }: ListKey, owner: string): string {
  return `${markOf(backend, method)}${extensions.length}:${extensions}:${owner}`;
}

/** The length comes first, so that no backend's name can be the prefix of a different key. */
function markOf(backend: string, method?: string): string {
  return `${backend.length}:${backend}:${method === undefined ? '' : `${method}:`}`;
}
