/** `sessions: optional`: requests of clients that never send their session id back. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { openMarket } from '../catalog/setup.ts';
import { openShop, resource } from '../catalog/shop.ts';
import {
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  notification,
  request,
  result,
  sessionRequired,
  text,
} from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

const optional = { endpoint: { sessions: 'optional' } };

describe('a request without a session', verifies('gateway:legacy:sessions-optional'), () => {
  it('is served without a session', async () => {
    const { url, backend } = await behindLegacy(echo, optional);
    for (const n of [1, 2, 3]) {
      const answer = await send(url, { body: call(n, { n }), headers: { 'mcp-protocol-version': '2025-06-18' } });
      expect(answer.status).toBe(200);
      expect(answer.headers['mcp-session-id']).toBeUndefined();
      expect(answer.json()).toEqual(result(n, text(`{"n":${n}}`)));
    }
    const upstream = new Set(backend.of('tools/call').map(({ headers }) => headers['mcp-session-id']));
    // Not a session for each call: one for finding out what the backend is, one for all of them.
    expect(upstream.size).toBe(1);
    expect(backend.of('initialize')).toHaveLength(2);
    expect(backend.of('notifications/initialized')).toHaveLength(1);
  });

  it('is served by a modern backend', async () => {
    const { url } = await behindModern(
      { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }) },
      optional,
    );
    const answer = await send(url, { body: call('x') });
    expect(answer.json()).toEqual(result('x', text('done')));
    expect(answer.headers['mcp-session-id']).toBeUndefined();
  });

  it('is a stream if it accepts one and a message precedes the response', async () => {
    const { url } = await behindLegacy(
      {
        'tools/call': (turn) => {
          const { progressToken } = turn.message.params._meta;
          turn
            .stream()
            .event(notification('notifications/progress', { progressToken, progress: 1 }))
            .event(result(turn.message.id, text('done')))
            .end();
        },
      },
      optional,
    );
    const answer = await send(url, { body: call(1, {}, { progressToken: 0 }) });
    expect(answer.events.map((event) => event.json())).toEqual([
      notification('notifications/progress', { progressToken: 0, progress: 1 }),
      result(1, text('done')),
    ]);
  });

  it('can get no server request', async () => {
    const { url, backend } = await behindLegacy(
      {
        'tools/call': (turn) => {
          turn
            .stream()
            .event(request('q', 'elicitation/create', { message: '?', requestedSchema: { type: 'object' } }));
          const refused = () => backend.received.some(({ message }) => message?.id === 'q');
          void until(refused, 'the question is answered').then(() =>
            turn.event(result(turn.message.id, text('without an answer'))).end(),
          );
        },
      },
      optional,
    );
    const answer = await send(url, { body: call(1) });
    expect(answer.json()).toEqual(result(1, text('without an answer')));
    const refused = backend.received.find(({ message }) => message?.id === 'q');
    expect(refused?.message.error.code).toBe(-32602);
    expect(backend.of('initialize').map(({ message }) => message.params.capabilities)).toEqual([{}, {}]);
  });

  it('may be a notification or a response, which are dropped', async () => {
    const { url, backend } = await behindLegacy(echo, optional);
    for (const body of [notification('notifications/initialized'), result(1, {})]) {
      expect(await send(url, { body })).toMatchObject({ status: 202, body: '' });
    }
    expect(backend.bytes).toBe(0);
  });

  it('does not keep others from having a session, and using what needs one', async () => {
    const { url } = await behindLegacy(echo, optional);
    const client = await connectLegacy(url);
    expect((await client.post(call(1, { a: 1 }))).json()).toEqual(result(1, text('{"a":1}')));
    const listening = await send(url, { method: 'GET', headers: { accept: 'text/event-stream' } });
    expectRefused(listening, 400, sessionRequired);
    expectRefused(await send(url, { method: 'DELETE' }), 400, sessionRequired);
  });
});

describe('without a version header', verifies('hosting:http:protocol-version-default'), () => {
  it('a request without a session is one of 2025-03-26', async () => {
    const { url, backend } = await behindLegacy(echo, optional);
    expect((await send(url, { body: call(1) })).status).toBe(200);
    expect(backend.of('initialize').at(-1)?.message.params.protocolVersion).toBe('2025-03-26');
    // That revision has no version header.
    expect(backend.of('tools/call')[0]?.headers['mcp-protocol-version']).toBeUndefined();
  });

  it('and the revision of other clients is not changed by that', async () => {
    const { url, backend } = await behindLegacy(echo, optional);
    const revisionOf = (n: number) => backend.of('tools/call')[n]?.headers['mcp-protocol-version'];
    await send(url, { body: call(1) });
    await send(url, modern({ id: 2, method: 'tools/call', params: { name: 'work', arguments: {} } }));
    await send(url, { body: call(3), headers: { 'mcp-protocol-version': '2025-06-18' } });
    expect([revisionOf(0), revisionOf(1), revisionOf(2)]).toEqual([undefined, '2025-11-25', '2025-06-18']);
  });
});

describe('where sessions are required', verifies('hosting:session:missing-id'), () => {
  it('the same request is 400', async () => {
    const { url, backend } = await behindLegacy(echo);
    const answer = await send(url, { body: call(1), headers: { 'mcp-protocol-version': '2025-06-18' } });
    expectRefused(answer, 400, { ...sessionRequired, id: 1 });
    expect(backend.bytes).toBe(0);
  });
});

describe('a client that never sends its session id back', verifies('gateway:legacy:sessions-optional'), () => {
  const shops = async () => [
    await openShop('legacy', 'l'),
    await openShop('modern', 'm', { resources: [resource('x:1')] }),
  ];

  it('opens no session at a backend by saying that it is ready', async () => {
    const all = await shops();
    const gateway = await openMarket(all, { endpoint: { sessions: 'optional' } });
    // What each backend is, is known from here on.
    await send(gateway.url(), { body: request(1, 'tools/list') });
    for (const { backend } of all) backend.forget();
    for (let n = 0; n < 10; n++) {
      expect((await send(gateway.url(), { body: notification('notifications/initialized') })).status).toBe(202);
    }
    await send(gateway.url(), { body: request(2, 'ping') });
    for (const { backend } of all) expect(backend.received).toEqual([]);
  });

  it('can subscribe to nothing: it would get no update', async () => {
    const all = await shops();
    const gateway = await openMarket(all, { endpoint: { sessions: 'optional' } });
    const answer = await send(gateway.url(), { body: request(1, 'resources/subscribe', { uri: 'x:1' }) });
    expect(answer.json().error.data.reason).toBe('session_required');
    for (const { backend } of all) expect(backend.of('subscriptions/listen')).toEqual([]);
  });
});
