/** What cannot be read in one way alone goes nowhere, whatever the rules are. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { ask, error, launchShop, openShop, type Shop } from './setup.ts';

const seed = Number(process.env.BASCULE_SEED ?? 20260728);

describe('one message', () => {
  const cases = [
    { name: 'no JSON', body: '{', code: -32700, reason: 'parse_error' },
    { name: 'nothing', body: '', code: -32700, reason: 'parse_error' },
    { name: 'a number', body: '1', code: -32600, reason: 'invalid_request' },
    { name: 'no UTF-8', body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), code: -32700, reason: 'parse_error' },
    {
      name: 'an id that no number holds',
      body: '{"jsonrpc":"2.0","id":1e400,"method":"a"}',
      code: -32600,
      reason: 'invalid_request',
    },
    {
      name: 'two methods',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'two methods, one escaped',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","m\\u0065thod":"b"}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'two methods for readers without regard to case',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'params with a long s',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","param\u017f":{}}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'two params of one name',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2}}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'two of one name in params by position',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","params":[{"x":1,"x":2}]}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'half a surrogate pair',
      body: '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 1,
    },
    {
      name: 'another version',
      body: '{"jsonrpc":"1.0","id":1,"method":"a"}',
      code: -32600,
      reason: 'invalid_request',
      id: 1,
    },
    {
      name: 'a method that is no text',
      body: '{"jsonrpc":"2.0","id":1,"method":1}',
      code: -32600,
      reason: 'invalid_request',
      id: 1,
    },
    {
      name: 'a method without a name',
      body: '{"jsonrpc":"2.0","id":1,"method":""}',
      code: -32600,
      reason: 'invalid_request',
      id: 1,
    },
    {
      name: 'an id that is an object',
      body: '{"jsonrpc":"2.0","id":{},"method":"a"}',
      code: -32600,
      reason: 'invalid_request',
    },
    {
      name: 'params that are text',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","params":"x"}',
      code: -32600,
      reason: 'invalid_request',
      id: 1,
    },
    {
      name: 'a method and an answer',
      body: '{"jsonrpc":"2.0","id":1,"method":"a","result":1}',
      code: -32600,
      reason: 'invalid_request',
      id: 1,
    },
    {
      name: 'two answers',
      body: '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}',
      code: -32600,
      reason: 'invalid_request',
    },
    {
      name: 'a response without a request',
      body: '{"jsonrpc":"2.0","result":1}',
      code: -32600,
      reason: 'invalid_request',
    },
    { name: 'neither', body: '{"jsonrpc":"2.0","id":1}', code: -32600, reason: 'invalid_request' },
    { name: 'an empty batch', body: '[]', code: -32600, reason: 'invalid_batch' },
    { name: 'a batch of a batch', body: '[[]]', code: -32600, reason: 'invalid_request' },
    {
      name: 'a batch with a number in it',
      body: `[${JSON.stringify(ask('a'))},1]`,
      code: -32600,
      reason: 'invalid_request',
    },
    {
      name: 'a batch with an ambiguous member',
      body: `[${JSON.stringify(ask('a'))},{"jsonrpc":"2.0","id":2,"method":"b","METHOD":"c"}]`,
      code: -32600,
      reason: 'ambiguous_json',
    },
    { name: 'a batch that does not end', body: `[${JSON.stringify(ask('a'))}`, code: -32700, reason: 'parse_error' },
    { name: 'something behind a batch', body: `[${JSON.stringify(ask('a'))}]1`, code: -32700, reason: 'parse_error' },
  ];
  it.each(cases)('$name is refused', verifies('gateway:json-rpc:strict'), async ({ body, code, reason, id = null }) => {
    const shop = await openShop();
    const answer = await shop.post(body);
    const told = answer.json();
    expect({ status: answer.status, id: told.id, code: told.error.code, reason: told.error.data.reason }).toEqual({
      status: 400,
      id,
      code,
      reason,
    });
    expect(shop.service.bytes).toBe(0);
  });
});

describe('sizes', () => {
  const nested = (depth: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"a","params":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const cases = [
    {
      name: 'depth',
      endpoint: { profile: { jsonDepth: 8 } },
      good: nested(7),
      bad: nested(8),
      status: 400,
      reason: 'too_deep',
    },
    {
      name: 'depth inside a batch',
      endpoint: { profile: { jsonDepth: 8 } },
      good: `[${nested(6)}]`,
      bad: `[${nested(7)}]`,
      status: 400,
      reason: 'too_deep',
    },
    {
      name: 'bytes',
      endpoint: { profile: { bodyBytes: 1024 } },
      good: nested(2),
      bad: `${nested(2)}${' '.repeat(1024)}`,
      status: 413,
      reason: 'body_too_large',
    },
  ];
  it.each(cases)(
    '$name have bounds',
    verifies('gateway:json-rpc:strict'),
    async ({ endpoint, good, bad, status, reason }) => {
      const shop = await openShop({ endpoint });
      expect((await shop.post(good)).status).toBe(200);
      shop.service.forget();
      const answer = await shop.post(bad);
      expect({ status: answer.status, reason: answer.json().error.data.reason }).toEqual({ status, reason });
      expect(shop.service.bytes).toBe(0);
    },
  );

  it('a batch has so many members and no more', verifies('gateway:json-rpc:strict'), async () => {
    const shop = await openShop({ more: { limits: { batchMembers: 2 } } });
    expect((await shop.post([ask('a'), ask('b')])).status).toBe(200);
    shop.service.forget();
    const answer = await shop.post([ask('a'), ask('b'), ask('c')]);
    expect(answer.json()).toEqual(error(null, -32600, 'invalid_batch'));
    expect(shop.service.bytes).toBe(0);
  });
});

describe('any input', () => {
  let shop: Shop;
  beforeAll(async () => {
    const rules = [{ id: 'some', effect: 'allow', on: { methods: ['ok*'] }, with: { arguments: { n: { max: 5 } } } }];
    shop = await launchShop({ more: { policy: { rules } } });
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.service.forget());

  /** Mostly what is right, so that a batch of several can be. */
  const mostly = (right: readonly unknown[], wrong: readonly unknown[]) =>
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: fc.constantFrom(...wrong) });
  const id = mostly([1, 0, -1, 1.5, null, 'a', ''], [[], {}, true]);
  const params = mostly([{ n: 1 }, { n: 5, m: [] }], [{}, { n: 9 }, { N: 9, n: 1 }, [], [9], 'x', null, { n: [1, 9] }]);
  const method = mostly(['ok', 'ok.2', 'ok\u0000'], ['no', 'OK', '', 1, null, 'tools/call']);
  const jsonrpc = mostly(['2.0'], ['2', 2]);
  const word = fc.constantFrom('jsonrpc', 'id', 'method', 'params', 'result', 'error', 'Method', 'ID', 'x');
  const more = fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, fc.dictionary(word, fc.jsonValue(), { maxKeys: 1 }));
  const message = fc
    .tuple(fc.record({ id, params, method, jsonrpc }, { requiredKeys: ['jsonrpc', 'method', 'params'] }), more)
    .map(([one, added]) => ({ ...one, ...added }));
  const body = fc.oneof(
    message,
    fc.array(fc.oneof({ weight: 19, arbitrary: message }, { weight: 1, arbitrary: fc.jsonValue() }), { maxLength: 4 }),
  );
  const spoilt = fc
    .tuple(body, fc.nat(), fc.constantFrom('', '"', '\\', ']', ',', '\u0000', '{'))
    .map(([value, at, noise]) => {
      const text = JSON.stringify(value);
      const place = at % (text.length + 1);
      return text.slice(0, place) + noise + text.slice(place);
    });

  // biome-ignore lint/suspicious/noExplicitAny: arbitrary JSON
  const permitted = (one: any): boolean => {
    if (typeof one !== 'object' || one === null || Array.isArray(one) || one.jsonrpc !== '2.0') return false;
    if (!('method' in one)) return 'result' in one !== 'error' in one && 'id' in one;
    if (typeof one.method !== 'string' || !one.method.startsWith('ok')) return false;
    // Of a list every item is tested.
    const given = one.params?.n;
    return typeof given === 'number' && given <= 5;
  };

  it(
    'only requests that the rules allow reach the service, unchanged; all others are rejected',
    verifies('gateway:json-rpc:strict', 'gateway:policy:no-permit-no-byte'),
    async () => {
      let passed = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            body.map((value) => JSON.stringify(value)),
            spoilt,
          ),
          async (text) => {
            shop.service.forget();
            const { status } = await shop.post(text);
            expect([200, 204, 400, 403]).toContain(status);
            if (shop.service.bytes === 0) return;
            passed += 1;
            passed += 1;
            expect(shop.service.visits.map((visit) => visit.text)).toEqual([text]);
            const value = JSON.parse(text);
            expect(Array.isArray(value) ? value.every(permitted) : permitted(value)).toBe(true);
          },
        ),
        { seed, numRuns: 400 },
      );
      expect(passed).toBeGreaterThan(50);
      expect(shop.gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );
});
