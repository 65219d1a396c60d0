/** Reads a whole list from a backend, page by page, as the gateway's own request. */
import { Failure } from '../errors/failure.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import type { Permit } from '../policy/permit.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { ResultResponse } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { member, textMember, valueAt } from '../wire/values.ts';

/** The most pages of one list: a backend with more is assumed to page in circles. */
const PAGES = 1_000;

/** What is needed of a page to request the next. The empty string is a valid cursor. */
interface ListedPage {
  readonly next: string | undefined;
}

/** All pages, as `read` returns them, up to `mostBytes` in total. Rejects with a `Failure`. */
export async function listPages<P extends ListedPage>(
  permit: Permit,
  row: MethodRow,
  upstream: UpstreamLease,
  mostBytes: number,
  read: (answer: ResultResponse) => P,
): Promise<readonly P[]> {
  const call = upstream.aside ?? upstream.call.bind(upstream);
  const pages: P[] = [];
  let cursor: string | undefined;
  let size = 0;
  while (pages.length < PAGES) {
    const request = ownRequest(row.method, cursor === undefined ? {} : { cursor });
    const answer = await callOnce((sink) => call(permit, request, sink));
    size += answer.bytes.byteLength;
    if (size > mostBytes) throw new Failure('backend_too_large', { message: `${row.method} is too large` });
    const page = read(answer);
    pages.push(page);
    if (page.next === undefined) return pages;
    if (page.next === cursor) break;
    cursor = page.next;
  }
  throw new Failure('backend_invalid', { message: `${row.method} has no end` });
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
    if (!Array.isArray(values)) throw new Failure('backend_invalid', { message: `${method} gave no list` });
    return { values: values as readonly unknown[], next: textMember(bytes, result, 'nextCursor') };
  });
  return pages.flatMap(({ values }) => values);
}
