/** Updates of single resources: `resources/subscribe` in the legacy era, `subscriptions/listen` in the modern one. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend } from '../harness/http-backend.ts';
import { connectV1, connectV2 } from '../harness/sdk.ts';
import { plainV1, plainV2, startV1, startV2 } from '../harness/sdk-servers.ts';

const capabilities = { resources: { subscribe: true } };

/** A legacy SDK server that tells of what was subscribed to, and an SDK client that hears of it. */
async function legacyPair() {
  const subscribed = new Set<string>();
  const asked: string[] = [];
  const server = await startV1(() =>
    plainV1(
      { capabilities },
      {
        'resources/subscribe': ({ uri }) => {
          subscribed.add(uri);
          asked.push(`subscribe ${uri}`);
          return {};
        },
        'resources/unsubscribe': ({ uri }) => {
          subscribed.delete(uri);
          asked.push(`unsubscribe ${uri}`);
          return {};
        },
      },
    ),
  );
  const gateway = await startGateway({ backends: { b: { url: server.url } } });
  const updates: string[] = [];
  const client = await connectV1(gateway.url('b'), {
    prepare: (fresh) => {
      fresh.fallbackNotificationHandler = async ({ params }: Json) => void updates.push(params.uri);
    },
  });
  await until(() => server.listening, 'the standalone stream is open');
  const update = async (uri: string) => {
    if (subscribed.has(uri)) await server.made.at(-1)?.sendResourceUpdated({ uri });
  };
  return { client, asked, updates, update };
}

describe('a legacy subscription', () => {
  it(
    'reaches the backend, and its updates the client',
    verifies('resources:subscribe', 'resources:subscribe:updated', 'resources:updated-notification'),
    async () => {
      const { client, asked, updates, update } = await legacyPair();
      const uri = 'note://Ünü%20x?v=1#a';
      expect(await client.subscribeResource({ uri })).toEqual({});
      expect(asked).toEqual([`subscribe ${uri}`]);
      await update(uri);
      await until(() => updates.length === 1, 'the update arrives');
      expect(updates).toEqual([uri]);
    },
  );

  it(
    'ends when the client unsubscribes',
    verifies('resources:unsubscribe', 'resources:unsubscribe:stops-updates'),
    async () => {
      const { client, asked, updates, update } = await legacyPair();
      await client.subscribeResource({ uri: 'note://a' });
      await client.subscribeResource({ uri: 'note://b' });
      expect(await client.unsubscribeResource({ uri: 'note://a' })).toEqual({});
      expect(asked).toEqual(['subscribe note://a', 'subscribe note://b', 'unsubscribe note://a']);
      await update('note://a');
      await update('note://b');
      await until(() => updates.length > 0, 'an update arrives');
      expect(updates).toEqual(['note://b']);
    },
  );

  it('is rejected if the backend has none', verifies('resources:subscribe:capability-required'), async () => {
    const backend = await legacyBackend({}, { capabilities: { resources: { listChanged: true } } });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    await backend.standing();
    backend.forget();
    const answer = await client.post({ jsonrpc: '2.0', id: 9, method: 'resources/subscribe', params: { uri: 'a:b' } });
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: {
        jsonrpc: '2.0',
        id: 9,
        error: {
          code: -32601,
          message: 'Method not found',
          data: { reason: 'method_not_found', method: 'resources/subscribe' },
        },
      },
    });
    expect(backend.bytes).toBe(0);
  });
});

describe('a modern subscription', () => {
  it('gets the requested updates', verifies('resources:updated-notification'), async () => {
    const server = await startV2(() => plainV2({ capabilities }, {}));
    const gateway = await startGateway({ backends: { b: { url: server.url } } });
    const updates: string[] = [];
    const client = await connectV2(gateway.url('b'), {
      prepare: (fresh) =>
        fresh.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri)),
    });
    const uri = 'note://Ünü%20x?v=1#a';
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] });
    server.notify.resourceUpdated('note://other');
    server.notify.resourceUpdated(uri);
    await until(() => updates.length > 0, 'an update arrives');
    expect(updates).toEqual([uri]);
  });
});
