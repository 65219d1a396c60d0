/** Rules at a JSON-RPC endpoint. What is denied sends not one byte to the service. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { ask, error, openShop, type Plan, tell } from './setup.ts';

const allow = (methods: readonly string[], more: object = {}) => ({
  id: 'some',
  effect: 'allow',
  what: ['rpc'],
  on: { methods },
  ...more,
});
const noDrops = { id: 'no-drops', effect: 'deny', on: { methods: ['*.drop'] } };
const under = (rules: readonly object[], more: object = {}, endpoint: Plan['endpoint'] = {}) =>
  openShop({ endpoint, more: { policy: { rules, ...more } } });

describe('a request', () => {
  const cases = [
    { name: 'a method by its name', rules: [allow(['get'])], body: ask('get'), passes: true },
    { name: 'a method by a pattern', rules: [allow(['eth_*'])], body: ask('eth_call'), passes: true },
    { name: 'another method', rules: [allow(['get'])], body: ask('set'), passes: false },
    { name: 'a method in another case', rules: [allow(['get'])], body: ask('Get'), passes: false },
    { name: 'no rule at all', rules: [], body: ask('get'), passes: false },
    {
      name: 'a rule about tools of that name',
      rules: [{ ...allow([]), what: ['call'], on: { tools: ['get'] } }],
      body: ask('get'),
      passes: false,
    },
    { name: 'a rule about everything', rules: [{ id: 'some', effect: 'allow' }], body: ask('get'), passes: true },
    { name: 'a denial over it', rules: [allow(['*']), noDrops], body: ask('table.drop'), passes: false },
  ];
  it.each(cases)(
    '$name',
    verifies('gateway:json-rpc:method-rules', 'gateway:policy:no-permit-no-byte'),
    async ({ rules, body, passes }) => {
      const shop = await under(rules);
      const answer = await shop.post(body);
      expect(answer.status).toBe(200);
      if (passes) expect(answer.json()).toMatchObject({ id: 1, result: {} });
      else expect(answer.json()).toEqual(error(1, 403, 'policy_denied', { rules: expect.any(Array) }));
      expect(shop.service.visits).toHaveLength(passes ? 1 : 0);
      if (!passes) expect(shop.service.bytes).toBe(0);
    },
  );

  const few = { arguments: { amount: { min: 1, max: 100 }, to: { glob: 'acct/*' } } };
  const params = [
    { name: 'within bounds', given: { amount: 5, to: 'acct/1' }, passes: true },
    { name: 'too much', given: { amount: 500, to: 'acct/1' }, passes: false },
    { name: 'another place', given: { amount: 5, to: 'bank/1' }, passes: false },
    { name: 'none', given: undefined, passes: false },
    { name: 'by position, without parameter names', given: [5, 'acct/1'], passes: false },
  ];
  it.each(params)('params $name', verifies('gateway:json-rpc:params-rules'), async ({ given, passes }) => {
    const shop = await under([allow(['pay'], { with: few })]);
    const answer = await shop.post(ask('pay', given));
    expect(answer.json().result !== undefined).toBe(passes);
    expect(shop.service.bytes > 0).toBe(passes);
  });

  const ambiguous = [
    { name: 'of another type', test: { force: { equals: true } }, given: { force: 'true' } },
    { name: 'that are a number for a truth', test: { force: { equals: true } }, given: { force: 1 } },
    { name: 'with an address of one slash', test: { url: { glob: 'http://host/**' } }, given: { url: 'http:/host/x' } },
    { name: 'with a tab in an address', test: { url: { glob: 'http://host/**' } }, given: { url: 'http://ho\tst/x' } },
    { name: 'with a slash more', test: { url: { glob: 'http://host/x' } }, given: { url: 'http://host/x/' } },
  ];
  it.each([
    { name: 'a text for a truth', when: 'arguments.force == true', given: { force: 'true' } },
    { name: 'a list for a text', when: "arguments.mode in ['drop']", given: { mode: ['drop'] } },
  ])('params with $name are denied by a rule that denies when $when', verifies('gateway:policy:types'), async (row) => {
    const shop = await under([allow(['*']), { id: 'no', effect: 'deny', what: ['rpc'], when: row.when }]);
    expect((await shop.post(ask('pay', row.given))).json()).toMatchObject(error(1, 403, 'policy_denied'));
    expect(shop.service.bytes).toBe(0);
  });

  it.each(ambiguous)(
    'params $name are denied by a rule that denies, and not allowed by one that allows',
    verifies('gateway:policy:types', 'gateway:policy:readings'),
    async ({ test, given }) => {
      const tested = { with: { arguments: test } };
      const denying = await under([allow(['pay']), { id: 'no', effect: 'deny', ...tested }]);
      expect((await denying.post(ask('pay', given))).json().error.data).toMatchObject({ rules: ['no'] });
      expect(denying.service.bytes).toBe(0);
      const allowing = await under([allow(['pay'], tested)]);
      expect((await allowing.post(ask('pay', given))).json().error.code).toBe(403);
      expect(allowing.service.bytes).toBe(0);
    },
  );

  const evasions = [
    { name: 'a test', deny: { with: { arguments: { amount: { min: 1000 } } } } },
    { name: 'a condition', deny: { when: 'has(arguments.amount) && arguments.amount >= 1000' } },
  ];
  it.each(evasions)(
    'a denial by $name is not got around by position',
    verifies('gateway:json-rpc:params-rules'),
    async ({ deny }) => {
      const shop = await under([allow(['pay']), { id: 'large', effect: 'deny', on: { methods: ['pay'] }, ...deny }]);
      expect((await shop.post(ask('pay', { amount: 5 }))).json().result).toBeDefined();
      shop.service.forget();
      for (const given of [{ amount: 5000 }, [5000]]) {
        expect((await shop.post(ask('pay', given))).json()).toEqual(
          error(1, 403, 'policy_denied', { rules: ['large'] }),
        );
      }
      expect(shop.service.bytes).toBe(0);
    },
  );

  it('an allowance by a condition is not got by position', verifies('gateway:json-rpc:params-rules'), async () => {
    const shop = await under([allow(['pay'], { when: '!has(arguments.amount) || arguments.amount < 10' })]);
    expect((await shop.post(ask('pay', [5000]))).json().error.data.reason).toBe('policy_denied');
    expect(shop.service.bytes).toBe(0);
  });

  const styles = [
    { denials: 'error', status: 200, code: 403, reason: 'policy_denied', data: { rules: [] } },
    { denials: 'http403', status: 403, code: 403, reason: 'policy_denied', data: { rules: [] } },
    { denials: 'hide', status: 200, code: -32601, reason: 'method_not_found', data: { method: 'set' } },
  ];
  it.each(styles)(
    'is reported by $denials',
    verifies('gateway:json-rpc:method-rules', 'gateway:policy:denied-http'),
    async ({ denials, status, code, reason, data }) => {
      const shop = await under([allow(['get'])], {}, { denials });
      const answer = await shop.post(ask('set', undefined, 'q'));
      expect(answer.status).toBe(status);
      expect(answer.json()).toEqual(error('q', code, reason, data));
    },
  );
});

describe('messages without a response', () => {
  it.each(['error', 'http403', 'hide'])(
    'a denied notification is HTTP 403 (%s)',
    verifies('gateway:json-rpc:one-way'),
    async (denials) => {
      const shop = await under([allow(['get'])], {}, { denials });
      for (const body of [tell('set'), [tell('set')], [tell('get'), tell('set')]]) {
        const answer = await shop.post(body);
        expect(answer.status).toBe(403);
        expect(answer.json()).toEqual(error(null, 403, 'policy_denied', { rules: [] }));
      }
      expect(shop.service.bytes).toBe(0);
    },
  );

  it.each(['enforce', 'audit'])(
    'an answer of the client passes without a rule (%s)',
    verifies('gateway:json-rpc:answers-pass'),
    async (mode) => {
      const shop = await under([{ id: 'none', effect: 'deny' }], { mode });
      for (const body of [
        { jsonrpc: '2.0', id: 5, result: {} },
        [{ jsonrpc: '2.0', id: 5, error: { code: 1, message: 'no' } }],
      ]) {
        expect((await shop.post(body)).status).toBe(204);
      }
      expect(shop.service.visits).toHaveLength(2);
    },
  );
});

describe('a batch', () => {
  const good = [ask('get', { a: 1 }), tell('get'), ask('get', [2], 'two')];
  const denied = (id: unknown, rules: readonly string[] = ['no-drops']) => error(id, 403, 'policy_denied', { rules });

  it('whose members are all allowed is served', verifies('gateway:json-rpc:batch-served'), async () => {
    const shop = await under([allow(['get'])]);
    expect((await shop.post(good)).json()).toMatchObject([
      { id: 1, result: {} },
      { id: 'two', result: {} },
    ]);
    expect(shop.records.map(({ decision, name, outcome }) => [decision, name, outcome])).toEqual(
      good.map(() => ['allow', 'get', 'result']),
    );
  });

  const bad = [
    { name: 'the first', batch: [ask('t.drop', undefined, null), ask('get')], ids: [null, 1] },
    { name: 'the last', batch: [...good, ask('t.drop', undefined, 9)], ids: [1, 'two', 9] },
    { name: 'a notification', batch: [ask('get'), tell('t.drop')], ids: [1] },
    { name: 'one among answers', batch: [{ jsonrpc: '2.0', id: 5, result: 1 }, ask('t.drop')], ids: [1] },
  ];
  it.each(bad)(
    '$name denied denies all',
    verifies('gateway:json-rpc:batch-one-denial', 'gateway:policy:no-permit-no-byte'),
    async ({ batch, ids }) => {
      const shop = await under([allow(['*']), noDrops]);
      const answer = await shop.post(batch);
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual(ids.map((id) => denied(id)));
      expect(shop.service.bytes).toBe(0);
      const allowed = batch.filter((one) => 'method' in one && one.method === 'get').length;
      expect(shop.records.map(({ outcome }) => outcome).sort()).toEqual([
        ...Array.from({ length: allowed }, () => 'cancelled'),
        'denied',
      ]);
    },
  );

  it('with HTTP 403 if the endpoint is configured so', verifies('gateway:json-rpc:batch-one-denial'), async () => {
    const shop = await under([allow(['*']), noDrops], {}, { denials: 'http403' });
    const answer = await shop.post([ask('get'), ask('t.drop', undefined, 2)]);
    expect(answer.status).toBe(403);
    expect(answer.json()).toEqual([denied(1), denied(2)]);
  });

  it('passes in audit mode, and is recorded as a denial', verifies('gateway:json-rpc:batch-served'), async () => {
    const shop = await under([allow(['*']), noDrops], { mode: 'audit' });
    expect((await shop.post([ask('get'), ask('t.drop', undefined, 2)])).json()).toHaveLength(2);
    expect(shop.records.map(({ name, wouldDeny }) => [name, wouldDeny])).toEqual([
      ['get', undefined],
      ['t.drop', ['no-drops']],
    ]);
  });

  it.each(['enforce', 'audit'])(
    'is refused unread where the profile denies it (%s)',
    verifies('gateway:json-rpc:batch-refused'),
    async (mode) => {
      const shop = await under([allow(['*'])], { mode }, { profile: { batches: 'deny' } });
      for (const body of [good, '[', '[]', '[1]']) {
        const answer = await shop.post(body);
        expect(answer.status).toBe(400);
        expect(answer.json()).toEqual(error(null, -32600, 'unsupported_batch'));
        expect(shop.records.splice(0)).toMatchObject([
          { decision: 'deny', reason: 'unsupported_batch', rules: [], endpoint: '/rpc', outcome: 'denied' },
        ]);
      }
      expect((await shop.post(ask('get'))).status).toBe(200);
      expect(shop.service.visits).toHaveLength(1);
    },
  );
});

describe('rates and records', () => {
  it(
    'a rate is counted by method, and an excess is 429 with when to come back',
    verifies('gateway:json-rpc:rates-and-records'),
    async () => {
      const shop = await openShop({
        more: { rates: [{ id: 'slow', per: ['method'], what: ['rpc'], perSecond: 0.001, burst: 1 }] },
      });
      expect((await shop.post(ask('get'))).status).toBe(200);
      expect((await shop.post(ask('other'))).status).toBe(200);
      shop.service.forget();
      const one = await shop.post(ask('get'));
      expect([one.status, one.json().error.data.reason]).toEqual([429, 'rate_limited']);
      expect(Number(one.headers['retry-after'])).toBeGreaterThan(0);
      const many = await shop.post([ask('get'), ask('third', undefined, 2)]);
      expect(many.status).toBe(429);
      expect(many.json().map(({ id }: { id: number }) => id)).toEqual([1, 2]);
      expect(shop.service.bytes).toBe(0);
    },
  );

  it(
    'a record names method, service and outcome, and contains params only if configured',
    verifies('gateway:json-rpc:rates-and-records'),
    async () => {
      const shop = await openShop({
        more: { audit: { to: 'stderr', arguments: { of: ['pay'] } } },
        serve: ({ text, response }) => {
          const { id } = JSON.parse(text);
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message: 'no' } }));
        },
      });
      await shop.post(ask('pay', { amount: 5, password: 'x' }));
      await shop.post(ask('get', { a: 1 }));
      expect(shop.records).toMatchObject([
        {
          action: 'rpc',
          name: 'pay',
          backend: 'ledger',
          endpoint: '/rpc',
          outcome: 'error',
          arguments: { amount: 5, password: '***' },
        },
        { action: 'rpc', name: 'get', outcome: 'error' },
      ]);
      expect(shop.records[1]).not.toHaveProperty('arguments.a');
    },
  );
});
