/** Arrays: refused unread everywhere but in 2025-03-26, where a profile may allow them. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  batchRefused,
  behindLegacy,
  call,
  cancelled,
  echo,
  expectRefused,
  Held,
  notification,
  refusal,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, initialize, modernHeaders } from '../harness/eras.ts';

const allow = { endpoint: { profile: { batches: 'allow' } } };
const revision = '2025-03-26';

const kinds = [
  { name: 'requests', body: [request(1, 'ping'), call(2)] },
  { name: 'notifications', body: [notification('notifications/initialized'), cancelled(1)] },
  { name: 'responses', body: [result(1, {}), { jsonrpc: '2.0', id: 2, error: { code: 1, message: 'x' } }] },
  { name: 'a mixture', body: [call(1), notification('notifications/roots/list_changed'), result(1, {})] },
  { name: 'initialize', body: [initialize()] },
  { name: 'nothing', body: [] },
  { name: 'something behind white space', body: ' \t\r\n [{"jsonrpc":"2.0","id":1,"method":"ping"}]' },
];
/** None of these would be read without complaint if anybody read them. */
const unreadable = [
  { name: 'no JSON', body: '[{"jsonrpc":"2.0","id":1,' },
  { name: 'no UTF-8', body: Buffer.concat([Buffer.from('["'), Buffer.from([0xff, 0xfe]), Buffer.from('"]')]) },
  { name: 'twins', body: '[{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}]' },
  { name: 'a thousand levels', body: '['.repeat(1000) },
  { name: 'no messages', body: '[1,2,3]' },
];

describe('an array is refused, and no byte of it reaches the backend', () => {
  const agreed = ['2025-06-18', '2025-11-25'].flatMap((of) => [
    { of, profile: 'a profile that denies batches', settings: {} },
    { of, profile: 'a profile that allows them', settings: allow },
  ]);

  describe.each(agreed)('in a session of $of, with $profile', ({ of, settings }) => {
    it.each(kinds)('with $name', verifies('gateway:legacy:batch-refused', 'hosting:http:batch'), async ({ body }) => {
      const { url, backend } = await behindLegacy(echo, settings);
      const client = await connectLegacy(url, { revision: of });
      await backend.standing();
      backend.forget();
      expectRefused(await client.post(body), 400, batchRefused);
      expect(backend.bytes).toBe(0);
    });

    it.each(unreadable)('unread, with $name', verifies('gateway:legacy:batch-unparsed'), async ({ body }) => {
      const { url, backend } = await behindLegacy(echo, settings);
      const client = await connectLegacy(url, { revision: of });
      await backend.standing();
      backend.forget();
      expectRefused(await client.post(body), 400, batchRefused);
      expect(backend.bytes).toBe(0);
    });
  });

  it.each([...kinds, ...unreadable])(
    'where there is no session, or a modern one would be, with $name',
    verifies('gateway:legacy:batch-unparsed', 'hosting:http:batch'),
    async ({ body }) => {
      const { url, backend } = await behindLegacy(echo);
      expectRefused(await send(url, { body }), 400, batchRefused);
      expectRefused(await send(url, { body, headers: modernHeaders('tools/list') }), 400, batchRefused);
      expect(backend.bytes).toBe(0);
    },
  );
});

describe('in 2025-03-26, where the profile allows it', () => {
  it('every request of an array is answered in one array', verifies('gateway:legacy:batch-served'), async () => {
    const { url, backend } = await behindLegacy(echo, allow);
    const client = await connectLegacy(url, { revision });
    backend.forget();
    const answer = await client.post([
      call(1, { n: 1 }),
      notification('notifications/roots/list_changed'),
      request('p', 'ping'),
      call(2, { n: 2 }),
      request(3, 'no/such/method'),
    ]);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    const answers = answer.json() as { id: string | number }[];
    expect(answers).toHaveLength(4);
    expect(new Map(answers.map((one) => [one.id, one]))).toEqual(
      new Map<string | number, unknown>([
        [1, result(1, text('{"n":1}'))],
        [2, result(2, text('{"n":2}'))],
        ['p', result('p', {})],
        [
          3,
          refusal({
            id: 3,
            code: -32601,
            message: 'Method not found',
            reason: 'method_not_found',
            data: { method: 'no/such/method' },
          }),
        ],
      ]),
    );
    expect(backend.of('tools/call')).toHaveLength(2);
    await backend.arrival('notifications/roots/list_changed');
  });

  it('every request of an array is answered on one stream', verifies('gateway:legacy:batch-served'), async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take }, { ...allow, limits: streaming });
    const client = await connectLegacy(url, { revision });
    const stream = await client.stream(['a', 'b', 'c'].map((id) => call(id, { id })));
    expect(stream.headers['content-type']).toBe('text/event-stream');
    await held.nth(3);
    // In the order in which they are done.
    for (const id of ['c', 'a', 'b']) {
      held.turns.find(({ message }) => message.params.arguments.id === id)?.result(text(`done ${id}`));
      await stream.message((message) => message.id === id);
    }
    await stream.ended;
    const expected = ['c', 'a', 'b'].map((id) => result(id, text(`done ${id}`)));
    expect(stream.events.map((event) => event.json())).toEqual(expected);
  });

  it('one request alone in an array is answered in an array', verifies('gateway:legacy:batch-served'), async () => {
    const { url } = await behindLegacy(echo, allow);
    const client = await connectLegacy(url, { revision });
    const answer = await client.post([call(1, { n: 1 })], { accept: 'application/json' });
    expect(answer.json()).toEqual([result(1, text('{"n":1}'))]);
  });

  it('notifications and responses alone are 202', verifies('gateway:legacy:batch-quiet-202'), async () => {
    const { url, backend, gateway } = await behindLegacy(echo, allow);
    const client = await connectLegacy(url, { revision });
    const note = notification('notifications/roots/list_changed');
    for (const body of [[note], [result(1, {})], [note, result(2, {}), note]]) {
      expect(await client.post(body)).toMatchObject({ status: 202, body: '' });
    }
    await backend.arrival('notifications/roots/list_changed', 3);
    expect(gateway.counters.snapshot()['exchange.unasked_response']).toBe(2);
  });

  const invalid = [
    { name: 'an empty array', body: [], message: 'An empty batch', reason: 'invalid_batch' },
    { name: 'initialize alone', body: [initialize()], message: 'initialize inside a batch', reason: 'invalid_batch' },
    {
      name: 'initialize among others',
      body: [call(1), initialize(), notification('notifications/roots/list_changed')],
      message: 'initialize inside a batch',
      reason: 'invalid_batch',
    },
    {
      name: 'an array in an array',
      body: [[call(1)]],
      message: 'A message must be an object',
      reason: 'invalid_request',
    },
  ];

  it.each(invalid)(
    '$name is -32600, and no member is executed',
    verifies('gateway:legacy:batch-invalid'),
    async (row) => {
      const { url, backend } = await behindLegacy(echo, allow);
      const client = await connectLegacy(url, { revision });
      await backend.standing();
      backend.forget();
      expectRefused(await client.post(row.body), 400, { code: -32600, message: row.message, reason: row.reason });
      expect(backend.bytes).toBe(0);
    },
  );

  it('more members than the limit are -32600', verifies('gateway:legacy:batch-invalid'), async () => {
    const { url, backend } = await behindLegacy(echo, { ...allow, limits: { batchMembers: 2 } });
    const client = await connectLegacy(url, { revision });
    await backend.standing();
    expect((await client.post([call(1), call(2)])).status).toBe(200);
    backend.forget();
    const message = 'More than 2 in one batch';
    expectRefused(await client.post([call(3), call(4), call(5)]), 400, {
      ...{ code: -32600, message, reason: 'invalid_batch' },
    });
    expect(backend.bytes).toBe(0);
  });

  it('one unreadable member rejects the batch', verifies('gateway:legacy:batch-invalid'), async () => {
    const { url, backend } = await behindLegacy(echo, allow);
    const client = await connectLegacy(url, { revision });
    await backend.standing();
    backend.forget();
    const body = `[${JSON.stringify(call(1))},{"jsonrpc":"2.0","id":2}]`;
    const answer = await client.post(body);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: -32600, data: { reason: 'invalid_request' } } });
    expect(backend.bytes).toBe(0);
  });
});
