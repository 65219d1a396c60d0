/** What arrives at a modern address and is no modern request. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { batchRefused, expectRefused, text } from '../harness/behind.ts';
import { type Answer, type Call, send } from '../harness/client.ts';
import { connectLegacy, modern, modernHeaders, modernRevision } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { launchBehind, type Shared } from './setup.ts';

const version = { 'mcp-protocol-version': modernRevision };

let shared: Shared;
beforeAll(async () => {
  shared = await launchBehind({
    'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }),
    'tools/call': (turn) =>
      turn
        .stream()
        .event({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: turn.message.id, progress: 1 },
        })
        .event({ jsonrpc: '2.0', id: turn.message.id, result: { resultType: 'complete', ...text('done') } })
        .end(),
  });
});
afterAll(() => shared.close());

/** The answer, and the proof that nobody but the gateway heard the question. */
async function unheard(call: Call): Promise<Answer> {
  shared.backend.forget();
  const answer = await send(shared.url, call);
  expect(shared.backend.bytes).toBe(0);
  return answer;
}

describe('a JSON-RPC response', verifies('gateway:modern:response-400'), () => {
  const notExpected = {
    code: -32600,
    message: 'Responses are not accepted in this revision',
    reason: 'response_not_expected',
  };
  const bodies = [
    { name: 'a result', body: { jsonrpc: '2.0', id: 1, result: {} } },
    { name: 'an error', body: { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } } },
    { name: 'an error without id', body: { jsonrpc: '2.0', error: { code: -1, message: 'no' } } },
  ];
  for (const { name, body } of bodies) {
    it(`is refused: ${name}`, async () => expectRefused(await unheard({ headers: version, body }), 400, notExpected));
  }

  it('is refused with the headers of a request, too', async () =>
    expectRefused(await unheard({ headers: modernHeaders('tools/list'), body: bodies[0]?.body }), 400, notExpected));
});

describe('a notification', verifies('gateway:modern:notification-202'), () => {
  const cases = [
    { name: 'without the headers of requests', headers: version },
    { name: 'with them', headers: modernHeaders('notifications/cancelled') },
    { name: 'with headers that disagree', headers: modernHeaders('tools/call', 'other') },
  ];
  for (const { name, headers } of cases) {
    it(`is accepted ${name}`, async () => {
      const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
      const answer = await unheard({ headers, body });
      expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: '' });
    });
  }

  it('is accepted though it is unknown', async () => {
    const answer = await unheard({ headers: version, body: { jsonrpc: '2.0', method: 'notifications/odd' } });
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: '' });
  });
});

describe('an array', verifies('gateway:modern:batch-refused'), () => {
  const request = modern({ method: 'tools/list' }).body;
  const bodies = [
    { name: 'of a request', body: [request] },
    { name: 'of notifications', body: [{ jsonrpc: '2.0', method: 'notifications/odd' }] },
    { name: 'that is empty', body: [] },
    { name: 'of which the rest is no JSON', body: '[{"jsonrpc"' },
  ];
  for (const { name, body } of bodies) {
    it(`is refused: one ${name}`, async () =>
      expectRefused(await unheard({ headers: modernHeaders('tools/list'), body }), 400, batchRefused));
  }

  it('is rejected also if the profile allows batches: this revision has none', async () => {
    const endpoints = [{ path: '/mcp', profile: { batches: 'allow' } }];
    const gateway = await startGateway({ backends: { b: { url: shared.backend.url } }, endpoints });
    expectRefused(await send(gateway.url(), { headers: version, body: [request] }), 400, batchRefused);
  });
});

describe('headers that only sessions need', verifies('gateway:modern:session-headers-ignored'), () => {
  const calls = [
    { name: 'a plain answer', call: modern({ method: 'tools/list' }) },
    { name: 'a stream', call: modern({ method: 'tools/call', params: { name: 't' }, meta: { progressToken: 0 } }) },
    { name: 'a refusal', call: modern({ method: 'ping' }) },
    { name: 'a discovery', call: modern({ method: 'server/discover' }) },
  ];
  const strip = ({ date: _date, ...headers }: Answer['headers']) => headers;

  for (const { name, call } of calls) {
    it(`change nothing and are not echoed: ${name}`, async () => {
      const { session } = await connectLegacy(shared.url);
      const without = await send(shared.url, call);
      for (const id of ['made-up', session]) {
        shared.backend.forget();
        const headers = { ...call.headers, 'mcp-session-id': id, 'last-event-id': 'e-1' };
        const answer = await send(shared.url, { ...call, headers });
        expect({ ...answer, headers: strip(answer.headers), json: undefined, events: [] }).toEqual({
          ...without,
          headers: strip(without.headers),
          json: undefined,
          events: [],
        });
        expect(Object.keys(answer.headers)).not.toContain('mcp-session-id');
        expect(answer.events.map((event) => event.id)).toEqual(answer.events.map(() => undefined));
        for (const received of shared.backend.received) {
          expect(Object.keys(received.headers)).not.toContain('mcp-session-id');
          expect(Object.keys(received.headers)).not.toContain('last-event-id');
        }
      }
    });
  }
});

describe('GET and DELETE', verifies('gateway:modern:get-delete-405'), () => {
  const notAllowed = { code: -32600, message: 'Method not allowed', reason: 'method_not_allowed' };
  const refuses = async (url: string, call: Call) => {
    shared.backend.forget();
    const answer = await send(url, call);
    expectRefused(answer, 405, notAllowed);
    expect(answer.headers.allow).toBe('POST, OPTIONS');
    expect(shared.backend.bytes).toBe(0);
  };
  for (const method of ['GET', 'DELETE']) {
    it(`are not allowed with the modern version: ${method}`, async () => {
      const listens = shared.backend.of('subscriptions/listen').length;
      const { session } = await connectLegacy(shared.url);
      // The session's own way of hearing of changes is open: from here on nothing is sent on its account.
      await shared.backend.arrival('subscriptions/listen', listens + 1);
      const accept = { accept: 'text/event-stream' };
      await refuses(shared.url, { method, headers: { ...version, ...accept } });
      await refuses(shared.url, { method, headers: { ...version, ...accept, 'mcp-session-id': session } });
    });

    it(`are not allowed at an address that is modern alone: ${method}`, async () => {
      const endpoints = [{ path: '/mcp', profile: { revisions: [modernRevision] } }];
      const gateway = await startGateway({ backends: { b: { url: shared.backend.url } }, endpoints });
      await refuses(gateway.url(), { method, headers: { accept: 'text/event-stream' } });
    });
  }
});
