/** Several backends behind one endpoint, in each way of naming; sessions that are resumed; batches. */
import { uri } from './behaviour.ts';
import { type Client, LegacyHttpClient, ModernHttpClient } from './clients.ts';
import type { OperationRow } from './operations.ts';
import { playAll } from './operations.ts';
import { allRevisions, backendsOf, hang, hangs, type Stage } from './stages.ts';

const behind = ['b202506', 'b202511', 'bmodern'];
const namings = ['always', 'collision', 'never'] as const;

/** With the names that clients see at the endpoint, and with those that they do not see. */
function rowsOf(naming: (typeof namings)[number]): OperationRow[] {
  const tool = (name: string, more: object = {}): OperationRow => ({
    ...{ kind: 'merged', name: `tool ${name}`, method: 'tools/call', params: { name, arguments: { a: 1 } }, ...more },
  });
  const own = naming === 'always' ? 'bmodern__e_only' : 'e_only';
  const greet = naming === 'always' ? 'b202506__greet' : 'greet';
  const read = (address: string): OperationRow => ({
    ...{ kind: 'merged', name: `read ${address}`, method: 'resources/read', params: { uri: address } },
  });
  return [
    ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'].map((method) => ({
      ...{ kind: 'merged', name: method, method },
    })),
    { kind: 'merged', name: 'a cursor that nobody gave', method: 'tools/list', params: { cursor: 'x' } },
    ...[own, 'c_only', 'echo', 'b202506__echo', 'bmodern__echo', 'nobody__echo', 'b202506__nothing'].map((name) =>
      tool(name),
    ),
    ...['b202511__elicit', 'bmodern__elicit', 'b202506__two', 'bmodern__thrice', 'bmodern__media'].map((name) =>
      tool(name),
    ),
    tool('bmodern__progress', { meta: { progressToken: 'p' } }),
    tool('b202511__progress', { meta: { progressToken: 'p' } }),
    { kind: 'merged', name: 'prompt', method: 'prompts/get', params: { name: greet, arguments: {} } },
    { kind: 'merged', name: 'prompt of one', method: 'prompts/get', params: { name: 'e_prompt' } },
    ...[uri, `bascule:b202511/${uri}`, 'demo://e/2', 'demo://e/9', 'demo://missing', 'other://x'].map(read),
    {
      ...{ kind: 'merged', name: 'completion', method: 'completion/complete' },
      params: { ref: { type: 'ref/prompt', name: greet }, argument: { name: 'who', value: 'A' } },
    },
    {
      ...{ kind: 'merged', name: 'completion of a template', method: 'completion/complete' },
      params: { ref: { type: 'ref/resource', uri: 'demo://e/{id}' }, argument: { name: 'id', value: '1' } },
    },
    { kind: 'merged', name: 'subscribe', method: 'resources/subscribe', params: { uri: 'demo://e/2' }, era: 'legacy' },
    { kind: 'merged', name: 'subscribe, shared', method: 'resources/subscribe', params: { uri }, era: 'legacy' },
    { kind: 'merged', name: 'level', method: 'logging/setLevel', params: { level: 'info' }, era: 'legacy' },
    tool('b202506__changed'),
    tool('bmodern__changed'),
    { kind: 'merged', name: 'tools again', method: 'tools/list' },
    { kind: 'merged', name: 'unsubscribe', method: 'resources/unsubscribe', params: { uri }, era: 'legacy' },
  ];
}

export const merged: Stage = {
  name: 'merged',
  play: async (player, backends) => {
    const endpoints = namings.map((names) => ({
      path: `/${names}/mcp`,
      backends: behind,
      names,
      profile: allRevisions,
    }));
    // Small pages, so that cursors are seen.
    const limits = { listPageEntries: 30 };
    await player.start({ backends: backendsOf(backends, behind), endpoints, limits }, 'serve', behind);
    for (const naming of namings) {
      const clients: readonly Client[] = [
        new LegacyHttpClient(player, `names ${naming}, legacy`, '2025-11-25', `/${naming}/mcp`),
        new ModernHttpClient(player, `names ${naming}, modern`, `/${naming}/mcp`),
        new LegacyHttpClient(player, `names ${naming}, 2025-03-26`, '2025-03-26', `/${naming}/mcp`),
      ];
      for (const client of clients) {
        await client.open();
        await client.listen();
        await playAll(client, rowsOf(naming));
        const params = { name: 'b202511__hang', arguments: {} };
        if (naming !== 'never') await client.cancel('cancel', { ...hang, params }, hangs(player));
        await client.close();
      }
    }
    await pages(new ModernHttpClient(player, 'pages', '/always/mcp'));
    await player.stop();
  },
};

/** Every page, each by the cursor of the one before. */
async function pages(client: ModernHttpClient): Promise<void> {
  for (let page = 1, cursor: unknown; page === 1 || cursor !== undefined; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    await client.request('list', `page ${page}`, { method: 'tools/list', params });
    cursor = client.lastResult?.nextCursor;
  }
}

const path = '/servers/b202511/mcp';

/** Resumption with Last-Event-ID, and batches of 2025-03-26. */
export const streams: Stage = {
  name: 'streams',
  play: async (player, backends) => {
    const names = ['b202511', 'b202503', 'bmodern'];
    const endpoints = names.map((name) => ({
      ...{ path: `/servers/${name}/mcp`, backends: [name], profile: allRevisions, sessions: 'optional' },
    }));
    const limits = { sseAfterMs: 0 };
    await player.start({ backends: backendsOf(backends, names), endpoints, limits }, 'serve', names);
    for (const revision of ['2025-06-18', '2025-11-25']) {
      const client = new LegacyHttpClient(player, `resumed ${revision}`, revision, path);
      await client.open();
      await client.listen();
      const progress = { name: 'progress', arguments: {}, _meta: { progressToken: 1 } };
      await client.request('resumption', 'a call with events', { method: 'tools/call', params: progress });
      const ids = client.last?.eventIds ?? [];
      for (const id of [...ids, 'nonsense', `${ids.at(0)}x`]) {
        await client.listen(id);
        client.stream?.close();
      }
      await client.listen();
      await client.request('resumption', 'news on the stream', {
        ...{ method: 'tools/call', params: { name: 'changed', arguments: {} } },
      });
      const last = client.stream?.eventIds.at(-1);
      await player.play('resumption', `${revision}, the stream is lost`, () => client.stream?.close());
      await client.request('resumption', 'news without a stream', {
        ...{ method: 'tools/call', params: { name: 'changed', arguments: {} } },
      });
      if (last !== undefined) await client.listen(last);
      await client.close();
    }
    await batches(new LegacyHttpClient(player, 'batches 2025-03-26', '2025-03-26', '/servers/b202503/mcp'));
    await batches(new LegacyHttpClient(player, 'batches 2025-11-25', '2025-11-25', path));
    for (const name of names) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } });
      await player.play('session', `no session, ${name}`, async () => {
        await player.http({ path: `/servers/${name}/mcp`, body });
      });
    }
    await player.stop();
  },
};

async function batches(client: LegacyHttpClient): Promise<void> {
  const one = (id: unknown, method: string, params?: object) => ({
    jsonrpc: '2.0',
    id,
    method,
    ...(params && { params }),
  });
  const echo = (id: unknown) => one(id, 'tools/call', { name: 'echo', arguments: { id } });
  const rows: Readonly<Record<string, readonly unknown[]>> = {
    'one request': [echo(1)],
    'several kinds': [one(1, 'ping'), one(undefined, 'notifications/roots/list_changed')],
    'a list': [one('a', 'tools/list')],
    'notifications alone': [one(undefined, 'notifications/roots/list_changed')],
    'ids twice': [one(1, 'ping'), one(1, 'ping')],
    'initialize inside': [one(1, 'initialize', { protocolVersion: '2025-03-26', capabilities: {} })],
    'something that is no message': [one(1, 'ping'), 5],
    'an unknown method': [one(1, 'example/unknown')],
    nothing: [],
  };
  await client.open();
  for (const [name, messages] of Object.entries(rows)) await client.raw('batch', name, JSON.stringify(messages));
  await client.close();
}
