/**
 * Reads each backend's lists for one client: completely, on the client's own upstream session, and cached while fresh.
 * A backend that is down or slow loses its own entries and no others.
 */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import { withoutInvalidSkills } from '../exchange/screened-skills.ts';
import { withoutInvalidTools } from '../exchange/tool-headers.ts';
import type { Trace } from '../exchange/trace.ts';
import type { Backend } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import type { Principal } from '../identity/principal.ts';
import type { Warn } from '../observe/ports.ts';
import { type Permit, systemPermit } from '../policy/permit.ts';
import type { CurrentBackends } from '../upstream/backends.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { ResultResponse } from '../wire/message.ts';
import { type MethodRow, methodRow, offers } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { runsTasks } from '../wire/tasks.ts';
import { member, textMember, valueAt } from '../wire/values.ts';
import { type Entry, readPage } from './entries.ts';
import type { KeptList, ListCache, ListKey, ReadResult } from './list-cache.ts';
import type { ListDeclaration } from './list-declaration.ts';
import type { Missing } from './merged-list.ts';

/** On whose behalf lists are read. */
export interface Reader {
  readonly principal: Principal;
  /** The era to use with a backend that supports both. */
  readonly prefers: Era;
  /** What the reads belong to. Absent where traces are not configured, or no client waits. */
  readonly trace?: Trace | undefined;
  /** Equal for readers that the backend, in that era, shows the same lists. */
  owner(era: Era, backend: string): string;
  /** The extensions that modern backends are told of. Legacy ones were told when the session was opened. */
  readonly declaration: ListDeclaration;
  hold(permit: Permit, backend: string, row: MethodRow): Promise<UpstreamLease>;
}

export interface ReadingOptions {
  readonly currentGeneration: CurrentBackends;
  readonly listCache: ListCache;
  /** Called when a backend's lists are read, so that its changes are watched. */
  readonly watch: (backend: string) => void;
  /** Called when a list is complete that a client did without because it took too long. */
  readonly late: (backend: string, row: MethodRow, principal: Principal) => void;
  readonly clock: Clock;
  readonly limits: ReadingLimits;
  readonly warn: Warn;
}

export interface ReadingLimits {
  readonly listWaitMs: number;
  readonly listGoodMs: number;
  readonly listUnsureMs: number;
  readonly listCacheBytes: number;
}

/** One backend's list, or why it is missing. Undefined: the backend does not offer such a list. */
export type ListPart = KeptList | Missing | undefined;

interface ReadTimes {
  /** How long the client waits. */
  readonly waitMs: number;
  /** How old a cached list may be. */
  readonly mostMs: number | undefined;
}

/** A list is read again after this time, even if its `ttlMs` is longer. */
const LONGEST_GOOD_MS = 60 * 60 * 1000;

export class ListReading {
  readonly #options: ReadingOptions;
  /** Reads that took longer than a client waited, so that each is reported once. */
  readonly #late = new Set<string>();

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** The lists last read, fresh or not. Backends that were never read are left out. */
  known(endpoint: Endpoint, row: MethodRow, reader: Reader): readonly KeptList[] {
    return endpoint.backends.flatMap((backend) => this.#last(backend, row, reader) ?? []);
  }

  #last(backend: string, row: MethodRow, reader: Reader): KeptList | undefined {
    return this.#options.listCache.last(keyOf(backend, row, reader, this.#eraOf(backend, reader)));
  }

  /** Whether every backend that offers this list was read at some time. */
  isKnown(endpoint: Endpoint, row: MethodRow, reader: Reader): boolean {
    const known = new Set(this.known(endpoint, row, reader).map(({ backend }) => backend));
    return endpoint.backends.every((name) => {
      const discovery = this.#options.currentGeneration.now.backends.of(name, reader.principal)?.lastDiscovery;
      return known.has(name) || (discovery !== undefined && !offers(discovery, row));
    });
  }

  /** The tools of one backend, as last read; reads them if that never happened. */
  async entriesOf(backend: string, reader: Reader): Promise<readonly Entry[]> {
    const row = methodRow('tools/list') as MethodRow;
    const part = await this.part(backend, row, reader);
    return part === undefined ? [] : 'entries' in part ? part.entries : (part.last?.entries ?? []);
  }

  /**
   * A list of one backend, to judge a call by: at most `listUnsureMs` old, whatever `ttlMs` the backend sent. A longer
   * one would let the backend choose when it is judged again; a shorter one would double the requests to a backend that
   * allows no caching. Rejects with a Failure where the list cannot be read.
   */
  async judgedBy(backend: string, row: MethodRow, reader: Reader): Promise<readonly Entry[]> {
    const { listCache, limits } = this.#options;
    const key = keyOf(backend, row, reader, this.#eraOf(backend, reader));
    const recent = listCache.recent(key, limits.listUnsureMs);
    const part = recent ?? (await this.part(backend, row, reader, limits.listUnsureMs));
    if (part === undefined) return [];
    if ('entries' in part) return part.entries;
    throw new Failure(part.reason);
  }

  #eraOf(name: string, { prefers, principal }: Reader): Era | undefined {
    const eras = this.#options.currentGeneration.now.backends.of(name, principal)?.lastDiscovery?.eras;
    return eras === undefined || eras.includes(prefers) ? eras && prefers : eras[0];
  }

  #missing(backend: string, row: MethodRow, reader: Reader, error: unknown): Missing {
    const reason = error instanceof Failure ? error.reason : 'internal_error';
    return { backend, reason, last: this.#last(backend, row, reader) };
  }

  /** `mostMs`: a cached list that is older is read again. Absent: only the list's own lifetime counts. */
  part(name: string, row: MethodRow, reader: Reader, mostMs?: number): ListPart | Promise<ListPart> {
    const backend = this.#options.currentGeneration.now.backends.of(name, reader.principal);
    if (backend === undefined) return undefined;
    const { listCache, clock, limits } = this.#options;
    const discovery = backend.lastDiscovery;
    const era = this.#eraOf(name, reader);
    if (backend.state.state === 'down') return this.#missing(name, row, reader, backend.state.failure);
    let waitMs = limits.listWaitMs;
    if (discovery !== undefined && era !== undefined) {
      if (!offers(discovery, row)) return undefined;
      const key = keyOf(name, row, reader, era);
      const fresh = listCache.fresh(key, mostMs);
      if (fresh !== undefined) return fresh;
      // Wait only the remaining time of a read that others already wait for, and not at all for an overdue one.
      const now = clock.now();
      waitMs = Math.max(0, waitMs - (now - (listCache.readingSince(key) ?? now)));
    }
    return this.#readWithin({ waitMs, mostMs }, backend, row, reader).catch((error: unknown) =>
      this.#missing(name, row, reader, error),
    );
  }

  async #readWithin(times: ReadTimes, backend: Backend, row: MethodRow, reader: Reader): Promise<ListPart> {
    const { clock, listCache } = this.#options;
    const list = async (): Promise<ListPart> => {
      const discovery = await backend.discover(reader.prefers);
      const { eras } = discovery;
      if (!offers(discovery, row)) return undefined;
      const era = eras.includes(reader.prefers) ? reader.prefers : (eras[0] ?? reader.prefers);
      const key = keyOf(backend.name, row, reader, era);
      return listCache.take(key, () => this.#read(backend.name, row, reader), times.mostMs);
    };
    // A late result is cached for the next request, and `late` is called.
    const reading = list();
    return within(clock, times.waitMs, reading, () => {
      this.#tellWhenRead(reading, backend.name, row, reader);
      throw new Failure('backend_timeout');
    });
  }

  #tellWhenRead(reading: Promise<ListPart>, backend: string, row: MethodRow, { principal }: Reader): void {
    const key = JSON.stringify([backend, row.method, principal.key]);
    if (this.#late.has(key)) return;
    this.#late.add(key);
    const over = () => void this.#late.delete(key);
    reading.then((part) => {
      over();
      if (part !== undefined) this.#options.late(backend, row, principal);
    }, over);
  }

  /** If the upstream session was lost, opens a new one, once: reads may be repeated. */
  async #read(name: string, row: MethodRow, reader: Reader): Promise<ReadResult> {
    const permit = systemPermit('list');
    this.#options.watch(name);
    const read = async () => {
      const upstream = await reader.hold(permit, name, row);
      try {
        return await this.#readOn(upstream, permit, name, row, reader);
      } finally {
        upstream.release?.();
      }
    };
    return read().catch((error: unknown) => {
      if (error instanceof Failure && error.reason === 'backend_session_lost') return read();
      throw error;
    });
  }

  async #readOn(
    upstream: UpstreamLease,
    permit: Permit,
    name: string,
    row: MethodRow,
    { declaration, trace }: Reader,
  ): Promise<ReadResult> {
    const { limits, warn, currentGeneration } = this.#options;
    const read = (answer: ResultResponse) => {
      const tools = withoutInvalidTools(answer, (tool, why) =>
        warn('a tool was left out: its x-mcp-header is invalid', { backend: name, tool, why }),
      );
      const valid =
        row.list !== 'skills'
          ? tools
          : withoutInvalidSkills(answer, (why, skill) =>
              warn('a skill was left out: it is invalid', { backend: name, skill, why }),
            );
      return readPage(valid, row, (why) =>
        warn('an entry of a list was left out', { backend: name, list: row.list, why }),
      );
    };
    const pages = await listPages(permit, row, upstream, limits.listCacheBytes, read, declaration.client, trace);
    const ttlMs = Math.min(...pages.map((page) => page.ttlMs ?? 0), LONGEST_GOOD_MS);
    const isTold = (upstream.hearing ?? 'heard') === 'heard' && tellsOfChanges(upstream.discovery.capabilities, row);
    const tells = isTold ? limits.listGoodMs : limits.listUnsureMs;
    // A backend with credentials per principal may show each principal a different list, whatever it declares.
    const isShared = upstream.era === 'modern' && currentGeneration.now.backends.get(name)?.ownOf === undefined;
    return {
      entries: pages.flatMap(({ entries }) => entries),
      ttlMs,
      goodMs: upstream.era === 'modern' ? ttlMs : tells,
      runsTasks: runsTasks(upstream.discovery),
      scope: isShared && pages.every(({ scope }) => scope === 'public') ? 'public' : 'private',
    };
  }
}

function keyOf(backend: string, { method }: MethodRow, reader: Reader, era: Era = reader.prefers): ListKey {
  const extensions = era === 'modern' ? reader.declaration.key : '';
  return { backend, method, owner: reader.owner(era, backend), extensions };
}

function tellsOfChanges(capabilities: Readonly<Record<string, unknown>>, { capability }: MethodRow): boolean {
  const area = capability === undefined ? undefined : capabilities[capability];
  return typeof area === 'object' && area !== null && 'listChanged' in area && area.listChanged === true;
}

/** The most pages of one list: a backend with more is assumed to page in circles. */
const PAGES = 1_000;

/**
 * All pages of a backend's list, as `read` returns them, up to `mostBytes` in total. The empty string is a valid cursor
 * of the next page. Rejects with a `Failure`.
 */
async function listPages<P extends { readonly next: string | undefined }>(
  permit: Permit,
  row: MethodRow,
  upstream: UpstreamLease,
  mostBytes: number,
  read: (answer: ResultResponse) => P,
  client?: ClientFacts,
  trace?: Trace,
): Promise<readonly P[]> {
  const call = upstream.aside ?? upstream.call.bind(upstream);
  const pages: P[] = [];
  let cursor: string | undefined;
  let size = 0;
  while (pages.length < PAGES) {
    const request = { ...ownRequest(row.method, cursor === undefined ? {} : { cursor }, client), trace };
    const answer = await callOnce((sink) => call(permit, request, sink));
    size += answer.bytes.byteLength;
    if (size > mostBytes) throw new Failure('backend_too_large', { message: `${row.method} is too large` });
    const page = read(answer);
    pages.push(page);
    if (page.next === undefined) return pages;
    if (page.next === cursor) break;
    cursor = page.next;
  }
  throw new Failure('backend_invalid', { message: `${row.method} returns more pages than allowed` });
}

/** The entries of all pages, parsed. */
export async function listAll(
  permit: Permit,
  method: 'tools/list',
  upstream: UpstreamLease,
  mostBytes: number,
): Promise<readonly unknown[]> {
  const row = methodRow(method) as MethodRow;
  const pages = await listPages(permit, row, upstream, mostBytes, ({ bytes, result }) => {
    const list = row.list === undefined ? undefined : member(result, row.list);
    const values = list && valueAt(bytes, list);
    if (!Array.isArray(values))
      throw new Failure('backend_invalid', { message: `the result of ${method} has no list` });
    return { values: values as readonly unknown[], next: textMember(bytes, result, 'nextCursor') };
  });
  return pages.flatMap(({ values }) => values);
}
