/**
 * Lists of backends that were read, kept for as long as they are good. What a backend shows may depend on who looks: a list
 * belongs to its owner, unless the backend says that it is the same for everybody.
 */
import type { Entry } from './entries.ts';
import type { BackendList } from './view.ts';

export interface ListCacheLimits {
  /** Bytes of all lists together; the one that was not used for the longest time goes first. */
  readonly listCacheBytes: number;
}

export interface ListKey {
  readonly backend: string;
  readonly method: string;
  /** Who is shown it: a principal, a session, a pool of sessions. */
  readonly owner: string;
}

/** What reading a list gave. */
export interface ReadResult {
  readonly entries: readonly Entry[];
  /** How long it is good; a list change ends that sooner. */
  readonly goodMs: number;
  /** What clients are told of that. */
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
}

export interface KeptList extends BackendList, ReadResult {
  /** Different for every reading. */
  readonly version: number;
  readonly readAt: number;
}

interface PendingRead {
  readonly list: Promise<KeptList>;
  readonly since: number;
  /** A change was told of while it was being read. */
  changed: boolean;
}

const everybody = '';
/** What an entry costs beside its bytes. */
const ENTRY_OVERHEAD = 200;

export class ListCache {
  readonly #limits: ListCacheLimits;
  readonly #now: () => number;
  /** In the order of use. */
  readonly #kept = new Map<string, { readonly list: KeptList; readonly bytes: number; changed: boolean }>();
  readonly #reading = new Map<string, PendingRead>();
  #bytes = 0;
  #versions = 0;
  #changes = 0;

  constructor(limits: ListCacheLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Another number after every change of what is kept: what was found before may be found no more. Time alone changes nothing. */
  get changes(): number {
    return this.#changes;
  }

  /** Undefined where there is none that is still good. */
  fresh(key: ListKey): KeptList | undefined {
    const found = this.#find(key);
    if (found === undefined || found.changed) return undefined;
    return this.#now() - found.list.readAt < found.list.goodMs ? found.list : undefined;
  }

  /** The last that was read, good or not. */
  last(key: ListKey): KeptList | undefined {
    return this.#find(key)?.list;
  }

  /** Since when the reading goes on that somebody who takes it now would wait for. */
  readingSince(key: ListKey): number | undefined {
    const running = this.#reading.get(nameOf(key, key.owner));
    return running === undefined || running.changed ? undefined : running.since;
  }

  /** From the shelf, or read now; everybody who wants the same list at the same time waits for the same reading. */
  take(key: ListKey, read: () => Promise<ReadResult>): Promise<KeptList> {
    const fresh = this.fresh(key);
    if (fresh !== undefined) return Promise.resolve(fresh);
    const name = nameOf(key, key.owner);
    const running = this.#reading.get(name);
    // A change that came while it was being read may not be in it.
    if (running !== undefined && !running.changed) return running.list;
    const reading: PendingRead = {
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

  /** The backend said that these lists changed: to one of its listeners, or to all. */
  changed(backend: string, methods: readonly string[], owner?: string): void {
    this.#changes++;
    const marks = methods.map((method) => prefixOf({ backend, method }));
    const concerned = (name: string) => {
      const mark = marks.find((candidate) => name.startsWith(candidate));
      if (mark === undefined) return false;
      return owner === undefined || [owner, everybody].includes(name.slice(mark.length));
    };
    for (const listCache of [this.#kept, this.#reading]) {
      for (const [name, entry] of listCache) if (concerned(name)) entry.changed = true;
    }
  }

  /** Nothing of it is shown any more, not even as what was known last. */
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
    const prefix = prefixOf(key);
    return this.#use(prefix + everybody) ?? this.#use(prefix + key.owner);
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
    const name = nameOf(key, read.scope === 'public' ? everybody : key.owner);
    const bytes = read.entries.reduce((sum, entry) => sum + entry.bytes.byteLength + ENTRY_OVERHEAD, ENTRY_OVERHEAD);
    this.#changes++;
    this.#drop(name);
    // A list that was for everybody, and is no longer.
    if (read.scope === 'private') this.#drop(nameOf(key, everybody));
    this.#kept.set(name, { list, bytes, changed });
    this.#bytes += bytes;
    for (const oldest of [...this.#kept.keys()]) {
      if (this.#bytes <= this.#limits.listCacheBytes || oldest === name) break;
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

function nameOf(key: ListKey, owner: string): string {
  return prefixOf(key) + owner;
}

/** With its length before it, no name of a backend can be taken for another and something more. */
function prefixOf({ backend, method }: Pick<ListKey, 'backend' | 'method'>): string {
  return `${markOf(backend)}${method}:`;
}

function markOf(backend: string): string {
  return `${backend.length}:${backend}:`;
}
