/** Cursors belong to the backend: they go round through the client unread. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Answer, send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';

/** As odd as strings get; an empty one is a cursor, too. */
const cursors = ['', 'eyJwIjoxfQ==', ' spaces, "quotes" \\ and \u2028 \ud83d\ude00 ', 'x'.repeat(5000)];
/** Pages may be of any size, and empty. */
const pages = [['a', 'b', 'c'], [], ['d'], ['e', 'f'], ['g']];

function serve(turn: Turn): void {
  const { cursor } = turn.message.params ?? {};
  const index = cursor === undefined ? 0 : cursors.indexOf(cursor) + 1;
  if (cursor !== undefined && index === 0) {
    turn.error(-32602, 'Invalid cursor', { cursor });
    return;
  }
  const tools = pages[index]?.map((name) => ({ name, inputSchema: { type: 'object' } }));
  const nextCursor = cursors[index];
  turn.result({
    resultType: 'complete',
    tools,
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ttlMs: 0,
    cacheScope: 'private',
  });
}

describe.each(eras)('pages, %s', (era) => {
  async function lister() {
    const backend = await (era === 'legacy' ? legacyBackend : modernBackend)({ 'tools/list': serve });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const url = gateway.url('b');
    const client = era === 'legacy' ? await connectLegacy(url) : undefined;
    const list = (cursor?: unknown): Promise<Answer> => {
      const params = cursor === undefined ? {} : { cursor };
      if (client === undefined) return send(url, modern({ method: 'tools/list', params }));
      return client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
    };
    return { backend, list };
  }

  it(
    'show every entry once, and end where there is no cursor',
    verifies('pagination:exhaustion', 'pagination:client:cursor-handling'),
    async () => {
      const { backend, list } = await lister();
      const names: string[] = [];
      const followed: string[] = [];
      let cursor: string | undefined;
      for (let asked = 0; asked < pages.length; asked += 1) {
        const { result } = (await list(cursor)).json();
        names.push(...result.tools.map(({ name }: { name: string }) => name));
        cursor = result.nextCursor;
        if (cursor !== undefined) followed.push(cursor);
      }
      expect(names).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
      expect(cursor).toBeUndefined();
      expect(followed).toEqual(cursors);
      const asked = backend.of('tools/list').map(({ message }) => message.params?.cursor);
      expect(asked).toEqual([undefined, ...cursors]);
    },
  );

  it('are rejected for an unknown cursor', verifies('pagination:invalid-cursor'), async () => {
    const { list } = await lister();
    const answer = await list('made up');
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32602, message: 'Invalid cursor', data: { cursor: 'made up' } },
      },
    });
  });
});
