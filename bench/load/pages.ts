/** Follows the pages of a merged list once, and gives what has to be asked for each of them. */
import { isDeepStrictEqual } from 'node:util';
import type { Tool } from '../programs/payloads.ts';
import { Connection } from './connection.ts';
import { type Call, modernRequest } from './requests.ts';
import { WrongAnswer } from './verify.ts';

/** Far more than there are: whoever pages on has lost his place. */
const MOST_PAGES = 1000;

export interface PageQuestion {
  readonly call: Call;
  readonly expected: { readonly tools: readonly Tool[] };
}

interface Page {
  readonly tools?: readonly Tool[];
  readonly nextCursor?: string;
}

export async function readPages(url: URL, all: readonly Tool[]): Promise<PageQuestion[]> {
  const connection = await Connection.open(url);
  try {
    const pages: PageQuestion[] = [];
    let seen = 0;
    let cursor: string | undefined;
    do {
      const call: Call = { method: 'tools/list', ...(cursor !== undefined && { cursor }) };
      const { body } = await connection.ask(modernRequest(url, pages.length, call));
      const { tools = [], nextCursor } = (JSON.parse(body.toString()) as { result?: Page }).result ?? {};
      const expected = all.slice(seen, seen + tools.length);
      if (tools.length === 0 || !isDeepStrictEqual(tools, expected))
        throw new WrongAnswer(`page ${pages.length} of the list is not what it should be`);
      pages.push({ call, expected: { tools: expected } });
      seen += tools.length;
      cursor = nextCursor;
    } while (cursor !== undefined && pages.length < MOST_PAGES);
    if (seen !== all.length) throw new WrongAnswer(`${seen} of ${all.length} tools were listed`);
    return pages;
  } finally {
    connection.close();
  }
}
