/** What is said at the beginning, where client and backend are of different eras. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, legacyRevisions } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';

const capabilities = {
  tools: { listChanged: true, odd: 1 },
  resources: { subscribe: true },
  logging: {},
  experimental: { 'x.example/y': { z: [1, null] } },
  extensions: { 'io.modelcontextprotocol/ui': { deep: true } },
};
const plain = { name: 'behind', version: '7', more: {} };
const titled = { ...plain, title: 'Behind' };
const serverInfo = { ...titled, icons: [{ src: 'data:,' }] };
const instructions = 'Call me\nMaybe é';

describe('initialize of a legacy client at a modern backend', verifies('gateway:bridge:legacy-initialize'), () => {
  const all = { profile: { revisions: ['2024-11-05', ...legacyRevisions, '2026-07-28'] } };
  const revisions = [
    { revision: '2024-11-05', knows: plain },
    { revision: '2025-03-26', knows: plain },
    { revision: '2025-06-18', knows: titled },
    { revision: '2025-11-25', knows: serverInfo },
  ];
  for (const { revision, knows } of revisions) {
    it(`is answered from the discovery, as far as the revision has the members: ${revision}`, async () => {
      const { url, backend, gateway } = await behindModern(
        {},
        { backend: { capabilities, serverInfo, instructions }, endpoint: all },
      );
      await gateway.assembled.backends.get('b')?.discover();
      backend.forget();
      const answer = await send(url, { body: initialize({ revision }) });
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 'init',
        result: { protocolVersion: revision, capabilities, serverInfo: knows, instructions },
      });
      // There is nothing that the backend would have to know of it.
      expect(backend.bytes).toBe(0);
    });
  }

  it('names the gateway if the backend has no info, and contains no modern member', async () => {
    const { url } = await behindModern({
      'server/discover': (turn) =>
        turn.result({
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities: {},
          ttlMs: 5,
          cacheScope: 'public',
          more: 'survives',
        }),
    });
    const { result } = (await send(url, { body: initialize() })).json();
    expect(result).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      serverInfo: { name: 'bascule', version: expect.any(String) },
      more: 'survives',
    });
  });
});

describe('server/discover of a modern client at a legacy backend', verifies('gateway:bridge:modern-discover'), () => {
  const discover = modern({ id: 'd', method: 'server/discover' });
  for (const revision of ['2024-11-05', ...legacyRevisions]) {
    it(`is answered from its initialize result: ${revision}`, async () => {
      const { url, backend } = await behindLegacy(
        {},
        { backend: { capabilities, serverInfo, instructions, revision } },
      );
      const answer = await send(url, discover);
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 'd',
        result: {
          resultType: 'complete',
          supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05'],
          capabilities,
          instructions,
          ttlMs: 0,
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
        },
      });
      await until(() => backend.received.some(({ http }) => http === 'DELETE'), 'the gateway took its leave');
      backend.forget();
      expect((await send(url, discover)).body).toBe(answer.body);
      expect(backend.bytes).toBe(0);
    });
  }

  it('names the revisions that the address serves', async () => {
    const revisions = ['2025-06-18', '2026-07-28'];
    const { url } = await behindLegacy(
      {},
      { endpoint: { profile: { revisions } }, backend: { revision: '2025-03-26' } },
    );
    expect((await send(url, discover)).json().result.supportedVersions).toEqual(['2026-07-28', '2025-06-18']);
  });
});
