/** One of each kind of content, and lists that come in pages: word by word as they are expected at the client. */
import type { Json } from '../harness/client.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

export const text = (of: string) => ({ type: 'text' as const, text: of });
export const image = {
  type: 'image' as const,
  data: png,
  mimeType: 'image/png',
  annotations: { audience: ['user' as const] },
};
export const audio = { type: 'audio' as const, data: wav, mimeType: 'audio/wav' };
export const embeddedText = {
  type: 'resource' as const,
  resource: { uri: 'note://one?a=b#c', mimeType: 'text/markdown', text: '# One\n\u2028' },
};
export const embeddedBlob = {
  type: 'resource' as const,
  resource: { uri: 'note://two', mimeType: 'application/octet-stream', blob: 'AAECAwQ=' },
};
export const link = {
  type: 'resource_link' as const,
  uri: 'file:///odd%20path/%C3%BC?q=1#part',
  name: 'odd',
  mimeType: 'text/plain',
  size: 12,
};

/** A page is a slice, and a cursor says nothing to anybody but who wrote it. */
export function page(key: string, entries: readonly object[], size: number): (params: Json) => object {
  return (params) => {
    const start = params?.cursor === undefined ? 0 : Number(params.cursor.slice('from '.length));
    const next = start + size;
    return { [key]: entries.slice(start, next), ...(next < entries.length ? { nextCursor: `from ${next}` } : {}) };
  };
}

/** Every entry of a list, page by page, whether the client follows the pages by itself or not. */
export async function everyPage(
  key: string,
  list: (params: { cursor?: string }) => Promise<Json>,
): Promise<readonly Json[]> {
  const entries: Json[] = [];
  let cursor: string | undefined;
  do {
    const answer = await list(cursor === undefined ? {} : { cursor });
    entries.push(...answer[key]);
    cursor = answer.nextCursor;
  } while (cursor !== undefined);
  return entries;
}
