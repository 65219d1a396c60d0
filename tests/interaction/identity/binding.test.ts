/**
 * What belongs to one principal does not exist for another. That it also takes the same time is by construction and is
 * not measured: a session, a line and a stream are looked up by their id and then compared with the asker in one
 * condition, and states and cursors are sealed for their owner, so that those of others fail where altered ones do, in
 * the same call.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Answer, type Call, type Headers, type Json, send } from '../harness/client.ts';
import { bearer } from '../harness/credentials.ts';
import { connectLegacy, initialize, type LegacyClient, modern } from '../harness/eras.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';
import { type House, launchHouse } from './house.ts';
import { legacyPosts, unreadables } from './ways.ts';

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const tools = ['a', 'b', 'c', 'd'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const asked: Turn[] = [];
const script: Script = {
  'tools/list': (turn) => turn.result({ tools, resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' }),
  'tools/call': (turn) => {
    if (turn.message.params.name !== 'greet') turn.result({ ...text('done'), resultType: 'complete' });
    else {
      asked.push(turn);
      turn.stream().event({ jsonrpc: '2.0', id: `q${turn.message.id}`, method: 'elicitation/create', params: form });
    }
  },
  POST: (turn) => {
    turn.raw(202, {});
    const call = asked.find(({ message }) => turn.message.id === `q${message.id}`);
    call?.event({ jsonrpc: '2.0', id: call.message.id, result: text('greeted') }).end();
  },
};

let house: House;
let alice: Headers;
let bob: Headers;
let origin: string;
beforeAll(async () => {
  house = await launchHouse({ script, limits: { listPageEntries: 3 } });
  alice = bearer(house.keys.good);
  bob = bearer(house.keys.poor);
  origin = house.gateway.origin;
});
afterAll(() => house.close());

/** Everything that can be seen of an answer, but when it was given. */
function seen({ status, headers, body }: Answer): Json {
  const { date, ...rest } = headers;
  expect(date).toBeDefined();
  return { status, headers: rest, body };
}

const unknown = 'x'.repeat(32);
const list = (id: number): object => ({ jsonrpc: '2.0', id, method: 'tools/list' });

describe.each(['/mcp', '/servers/legacy/mcp', '/servers/modern/mcp'])('a session at %s', (path) => {
  const calls: readonly { name: string; call: Call }[] = [
    { name: 'a request', call: { body: list(1) } },
    { name: 'a second initialize', call: { body: initialize() } },
    {
      name: 'a notification',
      call: { body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } },
    },
    { name: 'a response', call: { body: { jsonrpc: '2.0', id: 1, result: {} } } },
    { name: 'a batch', call: { body: [list(1)] } },
    { name: 'its stream', call: { method: 'GET', headers: { accept: 'text/event-stream' } } },
    { name: 'its end', call: { method: 'DELETE' } },
  ];

  it.each(calls)(
    'of another principal is as unknown as one that never was: $name',
    verifies('gateway:identity:session-bound'),
    async ({ call }) => {
      const client = await connectLegacy(`${origin}${path}`, {}, alice);
      const as = (session: string, more: Headers = {}) =>
        send(client.url, { ...call, headers: { ...call.headers, ...bob, 'mcp-session-id': session, ...more } });
      const answer = await as(client.session);
      expect(seen(answer)).toEqual(seen(await as(unknown)));
      if (call.body === undefined || !Array.isArray(call.body)) {
        expect({ status: answer.status, code: answer.json().error.code }).toEqual({ status: 404, code: -32001 });
      }
      const version = { 'mcp-protocol-version': '1999-01-01' };
      expect(seen(await as(client.session, version))).toEqual(seen(await as(unknown, version)));
      expect((await client.post(list(2))).status).toBe(200);
      await client.end();
    },
  );

  it('continues with another key of the same name', verifies('gateway:identity:session-bound'), async () => {
    const client = await connectLegacy(`${origin}${path}`, {}, bob);
    client.credentials = { 'x-access-key': house.keys.poor };
    expect((await client.post(list(2))).status).toBe(200);
    expect((await client.end()).status).toBe(204);
  });

  it(
    'continues with a refreshed token of the same principal, and not with that of another',
    verifies('gateway:identity:refreshed', 'gateway:identity:session-bound'),
    async () => {
      const { issuer } = house;
      const url = `${origin}${path}`;
      const client = await connectLegacy(url, {}, bearer(await issuer.token(url, { jti: '1' })));
      const refreshed = bearer(await issuer.token(url, { jti: '2', scope: 'more' }));
      const others = [
        await issuer.token(url, { sub: 'mallory' }),
        await issuer.token(url, { sub: undefined, client_id: 'alice' }),
        house.keys.good,
      ];
      for (const other of others) expect((await client.post(list(1), bearer(other))).status).toBe(404);
      client.credentials = refreshed;
      expect((await client.post(list(2))).status).toBe(200);
      const stream = await client.listen();
      expect(stream.status).toBe(200);
      stream.close();
      expect((await client.end()).status).toBe(204);
    },
  );
});

describe('an event', () => {
  it(
    'of another principal’s session is as unknown as one that never was',
    verifies('gateway:identity:session-bound'),
    async () => {
      const url = house.gateway.url('legacy');
      const [hers, his] = [
        await connectLegacy(url, { capabilities: { elicitation: {} } }, alice),
        await connectLegacy(url, {}, bob),
      ];
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'greet' } };
      const stream = await hers.stream(call);
      const { id = '' } = await stream.event((event) => Boolean(event.id));
      const resume = (client: LegacyClient, session: string, event: string) =>
        send(url, {
          method: 'GET',
          headers: {
            ...client.headers,
            'mcp-session-id': session,
            accept: 'text/event-stream',
            'last-event-id': event,
          },
        });
      expect(seen(await resume(his, his.session, id))).toEqual(seen(await resume(his, his.session, 'abcdefgh.1/1')));
      expect((await resume(his, his.session, id)).status).toBe(400);
      expect(seen(await resume(his, hers.session, id))).toEqual(seen(await resume(his, unknown, id)));
      stream.close();
      await hers.end();
      await his.end();
    },
  );
});

describe('a session of HTTP+SSE', () => {
  const posts = [...legacyPosts, ...unreadables.slice(0, 2)];
  it.each(posts)(
    'of another principal, or without credentials, is as unknown as one that never existed: $name',
    verifies('gateway:identity:session-bound'),
    async ({ call }) => {
      const line = await SseClient.connect(`${origin}/servers/legacy/sse`, {}, alice);
      const other = line.address.replace(/sessionId=.*/, `sessionId=${unknown}`);
      for (const who of [bob, {}, bearer('nonsense')]) {
        const as = (address: string) => send(address, { body: call.body, headers: { ...who } });
        expect(seen(await as(line.address))).toEqual(seen(await as(other)));
      }
      expect((await line.ask(list(77))).result.tools).toHaveLength(4);
      line.close();
    },
  );
});

describe('a state', () => {
  it('of another principal is as invalid as one that never was', verifies('gateway:identity:state-bound'), async () => {
    const url = house.gateway.url('legacy');
    const as = (headers: Headers, more: object) =>
      send(
        url,
        modern({
          method: 'tools/call',
          params: { name: 'greet', ...more },
          capabilities: { elicitation: {} },
          headers,
        }),
      );
    const { requestState, inputRequests } = (await as(alice, {})).json().result;
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { name: 'Ada' } }]),
    );
    const altered = `${requestState.slice(0, -8)}AAAAAAAA`;
    const stolen = await as(bob, { requestState, inputResponses });
    expect(seen(stolen)).toEqual(seen(await as(bob, { requestState: altered, inputResponses })));
    expect(stolen.json().error.code).toBe(-32602);
    // It is still there for its owner.
    expect((await as(alice, { requestState, inputResponses })).json().result.content[0].text).toBe('greeted');
  });
});

describe('a cursor', () => {
  it(
    'of another principal’s list is as invalid as one that never was',
    verifies('gateway:identity:no-sharing'),
    async () => {
      const as = (headers: Headers, cursor?: string) =>
        send(
          house.gateway.url(),
          modern({ method: 'tools/list', params: cursor === undefined ? {} : { cursor }, headers }),
        );
      const { nextCursor } = (await as(alice)).json().result;
      await as(bob);
      const altered = `${nextCursor.slice(0, -8)}AAAAAAAA`;
      const stolen = await as(bob, nextCursor);
      expect(seen(stolen)).toEqual(seen(await as(bob, altered)));
      expect(stolen.json().error.code).toBe(-32602);
      expect((await as(alice, nextCursor)).json().result.tools).toHaveLength(3);
    },
  );
});
