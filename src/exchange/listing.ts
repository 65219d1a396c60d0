/** Reads a whole list of a backend, page by page, on the gateway's own account. */
import { Failure } from '../errors.ts';
import type { Permit } from '../policy/permit.ts';
import { readCapabilities } from '../wire/capabilities.ts';
import { requestBytes } from '../wire/compose.ts';
import type { ResultResponse } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';
import { readMessage } from '../wire/scan.ts';
import { member, stringAt, valueAt } from '../wire/values.ts';
import type { CallRequest, ClientFacts } from './call.ts';
import type { HeldLane } from './lanes.ts';

/** Pages of one list: beyond that a backend pages in circles. */
const PAGES = 1_000;
/** A request of our own nests three deep. */
const DEPTH = 8;

/** The gateway as a client of its own: it can answer nothing. */
export const ourselves: ClientFacts = {
  revision: newest(revisions) as Revision,
  info: undefined,
  capabilities: readCapabilities({}),
};

export async function listAll(
  permit: Permit,
  method: 'tools/list',
  lane: (row: MethodRow) => Promise<HeldLane>,
): Promise<readonly unknown[]> {
  const row = methodRow(method) as MethodRow;
  const entries: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const result = await callOnce(permit, row, cursor, await lane(row));
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

function callOnce(permit: Permit, row: MethodRow, cursor: string | undefined, lane: HeldLane): Promise<ResultResponse> {
  const params = cursor === undefined ? '{}' : JSON.stringify({ cursor });
  const message = readMessage(requestBytes('1', row.method, params), { depth: DEPTH });
  if (message.kind !== 'request') throw new Failure('internal_error');
  const request: CallRequest = { row, message, client: ourselves, progress: false, logLevel: undefined };
  return new Promise((resolve, reject) => {
    lane.call(permit, request, {
      notify: () => undefined,
      ask: (ask) => ask.answer({ failure: new Failure('ask_not_supported') }),
      pause: () => undefined,
      settle: (outcome) => {
        if (outcome.kind === 'result') resolve(outcome.message);
        else
          reject(
            outcome.kind === 'failure'
              ? outcome.failure
              : new Failure('backend_invalid', { message: `${row.method} was refused` }),
          );
      },
    });
  });
}
