/** Ids: the client's are the client's, the backend gets the gateway's own; and what has no id gets no answer. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { caller, pairOf, startBeforeProcess } from '../backend/setup.ts';
import {
  behindLegacy,
  behindModern,
  call,
  Held,
  hasRead,
  notification,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { open, send, until } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { legacyProcess, modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const empty = { resultType: 'complete', messages: [] };
const asked = ['a', 'a', 0, 1, '1', 2 ** 53 - 1, -7, ''];

/** Of the gateway's own making, each of them once. */
function expectOwn(ids: readonly unknown[]): void {
  for (const id of ids) expect(id).toMatch(/^[\w-]{16}$/);
  expect(new Set(ids).size).toBe(ids.length);
}

describe.each(eras)('ids at a backend, %s', (era) => {
  it('are used once in a session, and none is 0 or null', verifies('protocol:request-id:unique'), async () => {
    const { ask, backend } = await pairOf(era, { 'prompts/get': (turn) => turn.result(empty) });
    backend.forget();
    // One after the other and at the same time.
    for (const id of asked) await ask(id, 'prompts/get', { name: 'p' });
    await Promise.all(asked.map((id) => ask(id, 'prompts/get', { name: 'p' })));
    expect(backend.of('prompts/get')).toHaveLength(2 * asked.length);
    expectOwn(backend.received.flatMap(({ message }) => message?.id ?? []));
  });

  it('are used once in a process, and none is 0 or null', verifies('protocol:request-id:unique'), async () => {
    const script = { 'prompts/get': (turn: StdioTurn) => turn.result(empty) };
    const backend = await (era === 'legacy' ? legacyProcess : modernProcess)(script);
    const gateway = await startBeforeProcess(backend);
    const { ask } = await caller(era, gateway.url('b'));
    await Promise.all(asked.map((id) => ask(id, 'prompts/get', { name: 'p' })));
    expect(backend.of('prompts/get')).toHaveLength(asked.length);
    for (const { received } of backend.processes) expectOwn(received.flatMap(({ id }) => id ?? []));
  });
});

describe('the id of a modern client', () => {
  it.each(['x', 'with "quotes" and ü', 0, -1, 2 ** 40, ''])(
    'comes back as it was: %j',
    verifies('protocol:request-id:caller-supplied'),
    async (id) => {
      const { url, backend } = await behindModern({ 'prompts/get': (turn) => turn.result(empty) });
      const answer = await send(url, modern({ id, method: 'prompts/get', params: { name: 'p' } }));
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id, result: empty });
      expect(backend.of('prompts/get')[0]?.message.id).not.toBe(id);
    },
  );

  it('names its subscription', verifies('protocol:request-id:caller-supplied'), async () => {
    const held = new Held();
    const { url } = await behindModern({ 'subscriptions/listen': held.take });
    const listening = await open(
      url,
      modern({ id: 'mine', method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } }),
    );
    const turn = await held.nth(1);
    expect(turn.message.id).not.toBe('mine');
    const tag = { 'io.modelcontextprotocol/subscriptionId': turn.message.id };
    const honoured = { notifications: { toolsListChanged: true } };
    turn.stream().event(notification('notifications/subscriptions/acknowledged', { ...honoured, _meta: tag }));
    turn.event(notification('notifications/tools/list_changed', { _meta: tag }));
    await until(() => listening.events.filter(({ data }) => data).length === 2, 'both came');
    const named = listening.events.map((event) => event.json().params._meta['io.modelcontextprotocol/subscriptionId']);
    expect(named).toEqual(['mine', 'mine']);
  });
});

describe('a notification', () => {
  const methods = [
    'notifications/initialized',
    'notifications/roots/list_changed',
    'notifications/progress',
    'no/such',
  ];

  it.each(eras)(
    'of a %s client is accepted without an answer',
    verifies('protocol:notifications:no-response'),
    async (era) => {
      const { url } = await behindLegacy();
      const headers = era === 'legacy' ? (await connectLegacy(url)).headers : { 'mcp-protocol-version': '2026-07-28' };
      for (const method of methods) {
        const answer = await send(url, { body: notification(method, { any: 1 }), headers });
        expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: '' });
      }
    },
  );

  it('of a backend is not answered', verifies('protocol:notifications:no-response'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const standing = await backend.standing();
    const calling = await client.stream(call(1));
    const turn = (await held.nth(1)).stream();
    backend.forget();
    for (const stream of [standing, turn]) {
      for (const method of ['notifications/message', 'notifications/progress', 'notifications/cancelled', 'no/such'])
        stream.event(notification(method, { level: 'info', data: 1, progressToken: 99, requestId: 99 }));
    }
    await hasRead(backend, standing);
    await hasRead(backend, turn);
    turn.event(result(turn.message.id, text('done'))).end();
    await calling.ended;
    const pongs = backend.received.map(({ message }) => message);
    expect(pongs.map(({ result: pong, id }) => ({ pong, ours: String(id).startsWith('read-') }))).toEqual([
      { pong: {}, ours: true },
      { pong: {}, ours: true },
    ]);
  });
});
