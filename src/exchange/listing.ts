/** Reads a whole list of a backend, page by page, on the gateway's own account. */
import { Failure } from '../errors.ts';
import type { Permit } from '../policy/permit.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { member, stringAt, valueAt } from '../wire/values.ts';
import type { HeldLane } from './lanes.ts';
import { callOnce, ownRequest } from './own-call.ts';

/** Pages of one list: beyond that a backend pages in circles. */
const PAGES = 1_000;
export async function listAll(permit: Permit, method: 'tools/list', lane: HeldLane): Promise<readonly unknown[]> {
  const row = methodRow(method) as MethodRow;
  const entries: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const request = ownRequest(method, cursor === undefined ? {} : { cursor });
    const result = await callOnce((sink) => (lane.aside ?? lane.call.bind(lane))(permit, request, sink));
    const list = row.list === undefined ? undefined : member(result.result, row.list);
    const values = list && valueAt(result.bytes, list);
    if (!Array.isArray(values)) throw new Failure('backend_invalid', { message: `${method} gave no list` });
    entries.push(...values);
    const next = member(result.result, 'nextCursor');
    cursor = next && stringAt(result.bytes, next);
    if (cursor === undefined) return entries;
  }
  throw new Failure('backend_invalid', { message: `${method} has no end` });
}
