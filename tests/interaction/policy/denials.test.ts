/** What is denied is denied on every way in, in the same words, and not one byte of it reaches a backend. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, refusal } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { call, named, openHouse, paths, ways } from './setup.ts';

const noDeletes = {
  policy: {
    rules: [
      { id: 'all', effect: 'allow', what: ['call', 'read', 'get', 'subscribe', 'complete', 'log'] },
      { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['*delete*'] } },
    ],
  },
};
const nothing = { policy: { rules: [] } };
const denied = (rules: readonly string[]) =>
  refusal({ id: 1, code: 403, message: 'Denied by policy', reason: 'policy_denied', data: { rules } });

describe.each(eras)('with %s backends', (era) => {
  describe.each(ways)('over $name', ({ enter, where }) => {
    it(
      'a call that a rule denies gets error 403, and no byte is forwarded; others pass',
      verifies('gateway:policy:denied-request', 'gateway:policy:no-permit-no-byte'),
      async () => {
        const house = await openHouse({ era, more: noDeletes });
        const client = await enter(house);
        const passed = await client.ask(call(named(where, 'read_file')));
        expect(passed.result.content[0].text).toBe('read_file');
        house.forget();
        expect(await client.ask(call(named(where, 'delete_file')))).toEqual(denied(['no-deletes']));
        expect(house.bytes).toBe(0);
        expect(house.records).toMatchObject([
          { decision: 'deny', reason: 'policy_denied', rules: ['no-deletes'], outcome: 'denied', backend: 'a' },
        ]);
      },
    );

    const requests: readonly { readonly name: string; readonly message: Json }[] = [
      { name: 'a call', message: call(named(where, 'read_file')) },
      { name: 'a read', message: { method: 'resources/read', params: { uri: 'file:///x' } } },
      { name: 'a prompt', message: { method: 'prompts/get', params: { name: named(where, 'p') } } },
      {
        name: 'a completion',
        message: {
          method: 'completion/complete',
          params: { ref: { type: 'ref/prompt', name: named(where, 'p') }, argument: { name: 'x', value: '' } },
        },
      },
    ];
    // Which of several backends has a resource, only their lists tell, and these are read first.
    const known = requests.filter(({ name }) => where === 'single' || name !== 'a read');
    it.each(known)(
      'under a policy without rules $name is denied, and no byte is forwarded',
      verifies('gateway:policy:no-permit-no-byte'),
      async ({ message }) => {
        const house = await openHouse({ era, more: nothing });
        const client = await enter(house);
        await Promise.all(['a', 'b'].map((name) => house.gateway.assembled.backends.get(name)?.discover()));
        await new Promise((resolve) => setImmediate(resolve));
        house.forget();
        expect(await client.ask({ jsonrpc: '2.0', id: 1, ...message })).toEqual(denied([]));
        const heard = [...house.a.received, ...house.b.received].filter(
          ({ message: got }) => got?.method === message.method,
        );
        expect(heard).toEqual([]);
      },
    );

    it(
      'in audit mode the call is forwarded, and the denial is recorded',
      verifies('gateway:policy:audit'),
      async () => {
        const house = await openHouse({ era, more: { policy: { ...noDeletes.policy, mode: 'audit' } } });
        const client = await enter(house);
        house.forget();
        const answer = await client.ask(call(named(where, 'delete_file')));
        expect(answer.result.content[0].text).toBe('delete_file');
        const record = house.records.find(({ action }) => action === 'call');
        expect(record).toMatchObject({
          decision: 'allow',
          wouldDeny: ['no-deletes'],
          generation: 1,
          principal: { kind: 'local' },
          endpoint: paths[where],
          backend: 'a',
          name: named(where, 'delete_file'),
          outcome: 'result',
        });
        expect(record?.durationMs).toBeGreaterThanOrEqual(0);
      },
    );
  });
});

describe.each(['merged', 'single'] as const)('%s', (where) => {
  const http403 = { endpoint: { denials: 'http403' }, more: noDeletes };
  const told = {
    id: 1,
    code: 403,
    message: 'Denied by policy',
    reason: 'policy_denied',
    data: { rules: ['no-deletes'] },
  };

  it('if configured, a denial is HTTP 403 with the same body', verifies('gateway:policy:denied-http'), async () => {
    const house = await openHouse(http403);
    const url = `${house.gateway.origin}${paths[where]}`;
    const message = call(named(where, 'delete_file'));
    expectRefused(await send(url, modern(message)), 403, told);
    expectRefused(await (await connectLegacy(url)).post(message), 403, told);
  });

  it('in hiding mode, a denied item looks like an unknown one', verifies('gateway:policy:hide'), async () => {
    const house = await openHouse({ endpoint: { denials: 'hide' }, more: noDeletes });
    const url = `${house.gateway.origin}${paths[where]}`;
    const name = named(where, 'delete_file');
    const unknown = { id: 1, code: -32602, message: `Unknown tool: ${name}`, reason: 'invalid_params', data: { name } };
    expectRefused(await send(url, modern(call(name))), 200, unknown);
    expectRefused(await (await connectLegacy(url)).post(call(name)), 200, unknown);
  });

  it(
    'a denied notification is HTTP 403, and is not forwarded',
    verifies('gateway:policy:denied-notification'),
    async () => {
      const more = { policy: { rules: [{ id: 'quiet', effect: 'deny', what: ['notify'] }] } };
      const house = await openHouse({ era: 'legacy', more });
      const url = `${house.gateway.origin}${paths[where]}`;
      const message = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
      const refused = { code: 403, message: 'Denied by policy', reason: 'policy_denied', data: { rules: ['quiet'] } };
      const client = await connectLegacy(url);
      expectRefused(await client.post(message), 403, refused);
      expectRefused(
        await send(url, { body: message, headers: { 'mcp-protocol-version': '2026-07-28' } }),
        403,
        refused,
      );
      expect([...house.a.of(message.method), ...house.b.of(message.method)]).toEqual([]);
    },
  );

  it(
    'a header that disagrees with the body is rejected before any rule is evaluated',
    verifies('gateway:policy:no-permit-no-byte'),
    async () => {
      const house = await openHouse({ more: noDeletes });
      const url = `${house.gateway.origin}${paths[where]}`;
      const wrong = [
        { 'mcp-name': named(where, 'read_file') },
        { 'mcp-name': `=?base64?${Buffer.from(named(where, 'read_file')).toString('base64')}?=` },
        { 'mcp-method': 'tools/list' },
        { 'mcp-protocol-version': '2025-11-25' },
      ];
      for (const headers of wrong) {
        const answer = await send(url, modern({ ...call(named(where, 'delete_file')), headers }));
        expect([answer.status, answer.json().error.code]).toEqual([400, -32020]);
      }
      expect(house.records).toEqual([]);
      expect(house.bytes).toBe(0);
    },
  );
});

it(
  'in hiding mode, the error has the name as the client spelled it, whether the item exists or not',
  verifies('gateway:policy:hide'),
  async () => {
    let backends = 0;
    const script = {
      'tools/list': (turn: { result(value: object): void }) => {
        backends += 1;
        const tools = [{ name: `only_${backends}`, inputSchema: { type: 'object' } }];
        turn.result({ resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'public' });
      },
    };
    const more = { policy: { rules: [{ id: 'none', effect: 'deny', what: ['call'] }] } };
    const house = await openHouse({ script, endpoint: { denials: 'hide', names: 'collision' }, more });
    const url = `${house.gateway.origin}${paths.merged}`;
    for (const name of ['a__only_1', 'a__only_2', 'a__only_3', 'only_1', 'only_2', 'only_3']) {
      const { error } = (await send(url, modern(call(name)))).json();
      expect([name, error.message, error.data.name]).toEqual([name, `Unknown tool: ${name}`, name]);
    }
    expect(backends).toBe(2);
  },
);
