/**
 * A page of a backend's list, with its entries as bytes, so that all details of an entry reach the client unchanged.
 */
import { Failure } from '../errors/failure.ts';
import { listed } from '../policy/actions.ts';
import type { ObjectSpan, ResultResponse, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { elementsAt, membersAt } from '../wire/skim.ts';
import { member, stringAt, textMember, valueAt } from '../wire/values.ts';

export interface Entry {
  /** The raw element of the list. */
  readonly bytes: Uint8Array;
  /** What clients refer to the entry by: its name, uri or uriTemplate. */
  readonly key: string;
  /** The span of that member's value within `bytes`. */
  readonly span: Span;
}

export type Scope = 'public' | 'private';

export interface ListPage {
  readonly entries: readonly Entry[];
  /** The cursor of the next page. The empty string is a valid cursor. */
  readonly next: string | undefined;
  /** Undefined if the backend sent none: a legacy backend. */
  readonly ttlMs: number | undefined;
  /** `private` unless the backend declares the list public. */
  readonly scope: Scope;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Throws a `Failure` if the result is not a list. An entry without a key, or that is not JSON, is left out; `skipped`
 * gets the reason.
 */
export function readPage(
  { bytes, result }: ResultResponse,
  row: MethodRow,
  skipped: (why: string) => void = () => undefined,
): ListPage {
  const list = row.list === undefined ? undefined : member(result, row.list);
  const elements = list && elementsAt(bytes, list);
  if (row.list === undefined || list === undefined || elements === undefined) {
    throw new Failure('backend_invalid', { message: `the result of ${row.method} has no list` });
  }
  // Copy once per page. Views into the message would keep the whole message, and the chunk that it came in, in memory
  // as long as the list is cached; a copy per entry would be an allocation each. All entries of a page are freed
  // together.
  const kept = Buffer.from(bytes.subarray(list.start, list.end));
  const { key } = listed[row.list];
  const entries = elements.flatMap(({ start, end }) => {
    const entry = readEntry(kept.subarray(start - list.start, end - list.start), key);
    if (typeof entry === 'object') return [entry];
    skipped(entry);
    return [];
  });
  const scope = textMember(bytes, result, 'cacheScope') === 'public' ? 'public' : 'private';
  return { entries, next: nextCursor(bytes, result), ttlMs: ttlOf(bytes, result), scope };
}

/** The entry, or why it is invalid. */
function readEntry(bytes: Uint8Array, key: string): Entry | string {
  // Skimming found its end but did not check that it is JSON. In a merged list it would break the entries of all
  // backends.
  if (!isJson(bytes)) return 'not JSON';
  const found = membersAt(bytes, { start: 0, end: bytes.byteLength })?.members.filter((own) => own.key === key) ?? [];
  const [only, twin] = found;
  if (only === undefined) return `no ${key}`;
  // Two readers could use different names.
  if (twin !== undefined) return `more than one ${key}`;
  const text = stringAt(bytes, only);
  return text === undefined ? `${key} is no string` : { bytes, key: text, span: { start: only.start, end: only.end } };
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(utf8.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination#implementation-guidelines */
function nextCursor(bytes: Uint8Array, result: ObjectSpan): string | undefined {
  const next = member(result, 'nextCursor');
  // It may be `null`.
  if (next === undefined || bytes[next.start] === 0x6e /* n */) return undefined;
  const cursor = stringAt(bytes, next);
  // Treating it as the end would silently lose the rest of the list.
  if (cursor === undefined) throw new Failure('backend_invalid', { message: 'nextCursor is no string' });
  return cursor;
}

/**
 * A negative value counts as zero.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#time-to-live-ttl-field
 */
function ttlOf(bytes: Uint8Array, result: ObjectSpan): number | undefined {
  const ttl = member(result, 'ttlMs');
  const value = ttl && valueAt(bytes, ttl);
  if (typeof value !== 'number' || Number.isNaN(value)) return undefined;
  return Math.min(Math.max(0, Math.floor(value)), Number.MAX_SAFE_INTEGER);
}
