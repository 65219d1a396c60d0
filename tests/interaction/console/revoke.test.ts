/** Revoking a person ends everything that stays open for them, in both eras, and is recorded. */
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, type OpenAnswer, open, send, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';

interface Revoking {
  readonly gateway: TestGateway;
  readonly keys: Readonly<Record<'ada' | 'bob' | 'cyd', string>>;
  readonly records: readonly AuditRecord[];
}

/** Ada may revoke. Bob and Cyd are clients. */
async function setting(): Promise<Revoking> {
  const ring = keyRing();
  const keys = { ada: ring.make('ada'), bob: ring.make('bob'), cyd: ring.make('cyd') };
  const records: AuditRecord[] = [];
  const fresh = await modernBackend({
    'subscriptions/listen': (turn) => {
      const { id, params } = turn.message;
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      const told = { notifications: params.notifications, _meta };
      turn.stream().event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: told });
    },
  });
  const gateway = await startGateway(
    {
      backends: { old: { url: (await legacyBackend()).url }, new: { url: fresh.url } },
      identity: { keys: { file: ring.path } },
      audit: { to: 'stderr' },
      console: { who: { keys: ['ada'] }, revoke: { who: { keys: ['ada'] } } },
    },
    { audit: { write: (record) => void records.push(record), close: async () => undefined } },
  );
  return { gateway, keys, records };
}

/** One of each kind of stream that a client can hold open. */
async function streamsOf(gateway: TestGateway, key: string): Promise<Record<string, OpenAnswer>> {
  const credentials = bearer(key);
  const legacy = await connectLegacy(gateway.url('old'), {}, credentials);
  const params = { notifications: { toolsListChanged: true } };
  const listen = modern({ method: 'subscriptions/listen', params, headers: credentials });
  const streams = {
    standalone: await legacy.listen(),
    connection: (await SseClient.connect(`${gateway.origin}/servers/old/sse`, {}, credentials)).stream,
    unopened: (await SseClient.open(`${gateway.origin}/servers/old/sse`, credentials)).stream,
    subscription: await open(gateway.url('new'), listen),
    merged: await open(gateway.url(), listen),
  };
  for (const stream of [streams.subscription, streams.merged])
    await stream.message(({ method }: Json) => method === 'notifications/subscriptions/acknowledged');
  return streams;
}

const openOf = (streams: Record<string, OpenAnswer>) => Object.keys(streams).filter((name) => !streams[name]?.over);

async function revoke(gateway: TestGateway, key: string, body: object) {
  const headers = { 'content-type': 'application/json', ...bearer(key) };
  return send(`${gateway.origin}/console/api/sessions/revoke`, { body, headers });
}

async function personCalled(gateway: TestGateway, key: string, who: string): Promise<string> {
  const answer = await send(`${gateway.origin}/console/api/people`, { method: 'GET', headers: bearer(key) });
  return answer.json().people.find((person: Json) => person.who === who).id;
}

describe('revoking a person', verifies('gateway:console:revoke'), () => {
  it('ends their sessions, connections and subscriptions, and no one else’s', async () => {
    const { gateway, keys } = await setting();
    const [bob, cyd] = [await streamsOf(gateway, keys.bob), await streamsOf(gateway, keys.cyd)];
    const person = await personCalled(gateway, keys.ada, 'key:bob');
    expect((await revoke(gateway, keys.bob, { person })).status).toBe(403);
    expect(openOf(bob)).toEqual(Object.keys(bob));
    const revoked = await revoke(gateway, keys.ada, { person });
    expect(revoked.json()).toEqual({ ended: 2, streams: 3 });
    await until(() => openOf(bob).length === 0, `all have ended, not: ${openOf(bob)}`);
    expect(openOf(cyd)).toEqual(Object.keys(cyd));
    for (const name of ['subscription', 'merged']) {
      const { error } = bob[name]?.events.at(-1)?.json() ?? {};
      expect(error, name).toMatchObject({ message: expect.stringContaining('An operator'), data: expect.anything() });
    }
  });

  it('writes one audit record, which names the operator and the person', async () => {
    const { gateway, keys, records } = await setting();
    await streamsOf(gateway, keys.bob);
    const person = await personCalled(gateway, keys.ada, 'key:bob');
    await revoke(gateway, keys.ada, { person });
    const acts = () => records.filter(({ action }) => action === 'revoke');
    expect(acts()).toMatchObject([
      {
        decision: 'allow',
        outcome: 'result',
        principal: { kind: 'key', key: 'ada' },
        endpoint: '/console',
        address: '127.0.0.1',
        name: 'key:bob',
      },
    ]);
    // Nothing was there to end, but the act is recorded.
    await revoke(gateway, keys.ada, { person });
    expect(acts()).toHaveLength(2);
  });
});

it('revoking one session records which one', verifies('gateway:console:revoke'), async () => {
  const { gateway, keys, records } = await setting();
  const client = await connectLegacy(gateway.url('old'), {}, bearer(keys.bob));
  const people = await send(`${gateway.origin}/console/api/people`, { method: 'GET', headers: bearer(keys.ada) });
  const [{ id }] = people.json().sessions.shown;
  expect((await revoke(gateway, keys.ada, { session: id })).json()).toEqual({ ended: 1, streams: 0 });
  const [act] = records.filter(({ action }) => action === 'revoke');
  expect(act).toMatchObject({ name: 'key:bob', session: client.session.slice(-8) });
});
