/**
 * Addresses of subscriptions are kept as long as a session or a stream: `limits.subscriptionsPerClient` and
 * `limits.subscriptionBytesPerClient` bound them, and one address has at most 8 KiB.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request } from '../harness/behind.ts';
import { open, send } from '../harness/client.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';

const COUNT = 3;
const BYTES = 1024;
const KIB = 1024;

/** Resources that the backend has; it refuses all others. */
const isThere = (uri: string) => uri.startsWith('note://');

const subscribed = (turn: Turn) => {
  if (isThere(turn.message.params.uri)) turn.result({});
  else turn.error(-32002, 'Resource not found');
};

const script: Script = {
  'resources/subscribe': subscribed,
  'resources/unsubscribe': (turn) => turn.result({}),
  'resources/list': (turn) => turn.result({ resources: [], resultType: 'complete', ttlMs: 0, cacheScope: 'private' }),
  'resources/templates/list': (turn) =>
    turn.result({
      resourceTemplates: [
        { name: 'note', uriTemplate: 'note://{+rest}' },
        { name: 'gone', uriTemplate: 'gone://{+rest}' },
      ],
      ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    }),
  'subscriptions/listen': (turn) => {
    const { resourceSubscriptions, ...lists } = turn.message.params.notifications;
    const uris = resourceSubscriptions?.filter(isThere);
    turn.stream().event({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id },
        notifications: { ...lists, ...(uris && { resourceSubscriptions: uris }) },
      },
    });
  },
};

/** Everything about single resources that reached the backend. */
const askedFor = (backend: ScriptedBackend) =>
  ['resources/subscribe', 'subscriptions/listen'].flatMap((method) => backend.of(method)).map(({ text }) => text);

const doors = [
  { name: 'a legacy backend', era: 'legacy', merged: false },
  { name: 'a modern backend', era: 'modern', merged: false },
  { name: 'several backends, of which a legacy one has the resource', era: 'legacy', merged: true },
  { name: 'several backends, of which a modern one has the resource', era: 'modern', merged: true },
] as const;

type Door = (typeof doors)[number];

async function house({ era, merged }: Door, limits: object) {
  const backend = await (era === 'legacy' ? legacyBackend : modernBackend)(script);
  const other = merged ? { other: { url: (await modernBackend({}, { capabilities: { tools: {} } })).url } } : {};
  const gateway = await startGateway({ backends: { b: { url: backend.url }, ...other }, limits });
  return { backend, url: gateway.url() };
}

let ids = 0;
const subscribe = async (client: LegacyClient, uri: string) =>
  (await client.post(request(++ids, 'resources/subscribe', { uri }))).json();
const unsubscribe = (client: LegacyClient, uri: string) =>
  client.post(request(++ids, 'resources/unsubscribe', { uri }));
const listen = (uris: readonly string[], more: object = {}) =>
  modern({ method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions: uris }, ...more } });

describe.each(doors)('at $name', verifies('gateway:legacy:subscriptions-bounded'), (door) => {
  it('a legacy session that subscribes to more resources than the limit gets too_many_subscriptions', async () => {
    const { url } = await house(door, { subscriptionsPerClient: COUNT });
    const client = await connectLegacy(url);
    for (let n = 0; n < 2 * COUNT; n++) {
      // What the backend refuses does not count.
      expect((await subscribe(client, `gone://${n}`)).error.data?.reason).not.toBe('too_many_subscriptions');
    }
    for (let n = 0; n < COUNT; n++) expect((await subscribe(client, `note://${n}`)).result).toEqual({});
    const refused = await subscribe(client, 'note://more');
    expect(refused.error.data.reason).toBe('too_many_subscriptions');
    expect(refused.error.message).toContain('unsubscribe from some first');
    // One that it has is not one more.
    expect((await subscribe(client, 'note://0')).result).toEqual({});
    await unsubscribe(client, 'note://0');
    expect((await subscribe(client, 'note://more')).result).toEqual({});
    expect((await subscribe(client, 'note://0')).error.data.reason).toBe('too_many_subscriptions');
    // Another session has room of its own.
    expect((await subscribe(await connectLegacy(url), 'note://0')).result).toEqual({});
  });

  it('a legacy session whose URIs have more bytes than the limit gets too_many_subscriptions', async () => {
    const { url } = await house(door, { subscriptionBytesPerClient: BYTES });
    const client = await connectLegacy(url);
    const half = (letter: string) => `note://${letter.repeat(BYTES / 2 - 7)}`;
    expect((await subscribe(client, half('a'))).result).toEqual({});
    expect((await subscribe(client, half('b'))).result).toEqual({});
    expect((await subscribe(client, 'note://c')).error.data.reason).toBe('too_many_subscriptions');
    await unsubscribe(client, half('a'));
    expect((await subscribe(client, 'note://c')).result).toEqual({});
  });

  it('a URI of more than 8 KiB gets uri_too_long, and nothing reaches the backend', async () => {
    const { url, backend } = await house(door, {});
    const client = await connectLegacy(url);
    const uri = (bytes: number) => `note://${'x'.repeat(bytes - 7)}`;
    expect((await subscribe(client, uri(8 * KIB))).result).toEqual({});
    backend.forget();
    const long = uri(8 * KIB + 1);
    expect((await subscribe(client, long)).error).toMatchObject({ code: -32602, data: { reason: 'uri_too_long' } });
    expect((await send(url, listen(['note://a', long]))).json().error.data.reason).toBe('uri_too_long');
    expect(askedFor(backend).filter((text) => text.includes(long))).toEqual([]);
  });

  it('a subscriptions/listen over a limit gets too_many_subscriptions, and nothing reaches the backend', async () => {
    const limits = { subscriptionsPerClient: COUNT, subscriptionBytesPerClient: 4 * BYTES };
    const { url, backend } = await house(door, limits);
    const uris = Array.from({ length: COUNT + 1 }, (_, n) => `note://${n}`);
    const stream = await open(url, listen(uris.slice(1)));
    expect((await stream.message(() => true)).params.notifications.resourceSubscriptions).toEqual(uris.slice(1));
    backend.forget();
    const refused = await send(url, listen(uris));
    expect(refused.status).toBe(429);
    expect(refused.json().error.data.reason).toBe('too_many_subscriptions');
    // It is kept as long as its stream, with all that it holds.
    const large = await send(url, listen(uris.slice(1), { padding: 'x'.repeat(4 * BYTES) }));
    expect(large.json().error.data.reason).toBe('too_many_subscriptions');
    expect(askedFor(backend)).toEqual([]);
  });
});
