/** Subscriptions across the eras. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { open, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';

const uri = 'demo://note';
const subscribe = (id: number) => ({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri } });
const unsubscribe = (id: number) => ({ jsonrpc: '2.0', id, method: 'resources/unsubscribe', params: { uri } });
const acknowledge = (turn: Turn) =>
  turn.event({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id },
      notifications: turn.message.params.notifications,
    },
  });
const changed = (turn: Turn, method: string, params: object) =>
  turn.event({
    jsonrpc: '2.0',
    method,
    params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } },
  });

describe('a legacy client at a modern backend', verifies('gateway:bridge:subscribe-to-listen'), () => {
  it('gets list changes on the shared stream, and resource updates on its own', async () => {
    const listens: Turn[] = [];
    const backend = await modernBackend({
      'subscriptions/listen': (turn) => void listens.push(acknowledge(turn.stream()) && turn),
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    const stream = await client.listen();
    await until(() => listens.length === 1, 'lists are listened for');
    expect((await client.post(subscribe(1))).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    const [first, second] = listens;
    expect(first?.message.params.notifications).toEqual({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
    });
    expect(second?.message.params.notifications).toEqual({ resourceSubscriptions: [uri] });
    changed(second as Turn, 'notifications/resources/updated', { uri });
    changed(first as Turn, 'notifications/tools/list_changed', {});
    expect(await stream.message((message) => message.method === 'notifications/resources/updated')).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri },
    });
    await stream.message((message) => message.method === 'notifications/tools/list_changed');
    await client.end();
    await second?.closed;
  });

  it('gets an answer to an unsubscribe before the acknowledgement', async () => {
    const backend = await modernBackend({
      // The first is for lists; the backend says nothing to any other.
      'subscriptions/listen': (turn) => {
        turn.stream();
        if (backend.of('subscriptions/listen').length === 1) acknowledge(turn);
      },
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    await backend.arrival('subscriptions/listen');
    const asked = client.post(subscribe(1));
    await backend.arrival('subscriptions/listen', 2);
    expect((await client.post(unsubscribe(2))).json().result).toEqual({});
    const ended = await client.end();
    expect(ended.status).toBe(204);
    expect((await asked).json().error.code).toBeLessThan(0);
  });
});

describe('a modern client at a legacy backend', verifies('gateway:bridge:listen-to-subscribe'), () => {
  it('gets the requested notifications, under its own id, until it closes the stream', async () => {
    const backend = await legacyBackend({
      'resources/subscribe': (turn) => turn.result({}),
      'resources/unsubscribe': (turn) => turn.result({}),
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const notifications = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const stream = await open(
      gateway.url('b'),
      modern({ id: 'sub', method: 'subscriptions/listen', params: { notifications } }),
    );
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 'sub' };
    expect((await stream.message(() => true)).params).toEqual({ _meta, notifications });
    const standing = await backend.standing();
    standing.event({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' });
    standing.event({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
    standing.event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    await stream.message((message) => message.method === 'notifications/tools/list_changed');
    expect(stream.events.slice(1).map((event) => event.json())).toEqual([
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, _meta } },
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
    ]);
    stream.close();
    await backend.arrival('resources/unsubscribe');
  });

  it('has as many subscriptions as the limit allows', verifies('gateway:bridge:listen-to-subscribe'), async () => {
    const backend = await legacyBackend();
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: { listenStreams: 1 } });
    const listen = modern({ method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } });
    await (await open(gateway.url('b'), listen)).message(() => true);
    const refused = await send(gateway.url('b'), listen);
    expect(refused.status).toBe(429);
    expect(refused.json().error.data.reason).toBe('too_many_requests');
  });
});
