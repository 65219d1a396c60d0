/** Lists and messages for the tests of this room. */
import { createHash } from 'node:crypto';
import { type ListPage, readPage } from '../../src/catalog/entries.ts';
import type { BackendList } from '../../src/catalog/view.ts';
import type { Notification, Request, ResultResponse } from '../../src/wire/message.ts';
import { type MethodRow, methodRow } from '../../src/wire/methods.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { skimMessage } from '../../src/wire/skim.ts';

export const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

export const row = (method: string): MethodRow => {
  const found = methodRow(method);
  if (found === undefined) throw new Error(`no method ${method}`);
  return found;
};

/** A backend's answer, from the text of its result. */
export function answer(result: string | Uint8Array): ResultResponse {
  const bytes = Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":1,"result":'),
    typeof result === 'string' ? Buffer.from(result) : result,
    Buffer.from('}'),
  ]);
  const message = skimMessage(bytes);
  if (message.kind !== 'result') throw new Error('no result');
  return message;
}

export function received(text: string): Request | Notification {
  const message = readMessage(Buffer.from(text), { depth: 64 });
  if (message.kind !== 'request' && message.kind !== 'notification') throw new Error('no request');
  return message;
}

/** A page of the list from the texts of its entries. */
export function pageOf(
  method: string,
  entries: readonly string[],
  more = '',
  skipped?: (why: string) => void,
): ListPage {
  const list = row(method);
  return readPage(answer(`{"${list.list}":[${entries.join(',')}]${more}}`), list, skipped);
}

const keys = { 'tools/list': 'name', 'resources/list': 'uri', 'resources/templates/list': 'uriTemplate' } as const;

/** A list of entries that have nothing but what they are asked for by. */
export function listOf(
  backend: string,
  named: readonly string[],
  method: keyof typeof keys = 'tools/list',
  away = false,
): BackendList {
  const entries = pageOf(
    method,
    named.map((name) => JSON.stringify({ [keys[method]]: name })),
  ).entries;
  return { backend, entries, away };
}

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
