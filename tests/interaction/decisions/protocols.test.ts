/** Decision points of every protocol, asked through every way in. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { json } from '../json-rpc/setup.ts';
import { call, named, openHouse, paths, ways } from '../policy/setup.ts';
import { asked, deciding, decisionPoint, kinds, openDecided, pointConfig } from './setup.ts';

const mayRead = (name: string) => !name.includes('delete');

describe.each(kinds)('%s', (kind) => {
  it.each(ways)(
    'over $name a call is sent where the decision point allows it, and denied where it does not',
    verifies('gateway:policy:decision-points', 'gateway:policy:audit'),
    async (way) => {
      const house = await openDecided(kind, deciding(kind, mayRead));
      const client = await way.enter(house);
      const allowed = await client.ask(call(named(way.where, 'read_file')));
      expect(allowed.result.content[0].text).toBe('read_file');
      expect(house.records.at(-1)).toMatchObject({
        decision: 'allow',
        decisions: [{ point: 'pdp', effect: 'allow', id: expect.any(String), ms: expect.any(Number) }],
      });
      house.forget();
      const { error } = await client.ask(call(named(way.where, 'delete_file')));
      expect(error).toMatchObject({ code: 403, data: { reason: 'policy_denied', decisionPoint: 'pdp', rules: [] } });
      expect(house.a.of('tools/call')).toHaveLength(0);
      expect(house.records).toMatchObject([
        { decision: 'deny', reason: 'policy_denied', decisions: [{ point: 'pdp', effect: 'deny' }] },
      ]);
    },
  );

  it('is not asked about what the rules deny', verifies('gateway:policy:decision-points'), async () => {
    const rules = [{ id: 'reads', effect: 'allow', on: { tools: ['*read_file'] } }];
    const house = await openDecided(
      kind,
      deciding(kind, () => true),
      { policy: { rules } },
    );
    const url = `${house.gateway.origin}${paths.single}`;
    const { error } = (await send(url, modern(call('delete_file')))).json();
    expect(error.data).toMatchObject({ reason: 'policy_denied', rules: [] });
    expect(house.point.visits).toHaveLength(0);
  });

  it(
    'in audit mode its denial is recorded, and the call is sent',
    verifies('gateway:policy:decision-points'),
    async () => {
      const rules = [{ id: 'all', effect: 'allow' }];
      for (const audit of [{ policy: { mode: 'audit' } }, { point: { mode: 'audit' }, policy: { rules } }]) {
        const house = await openDecided(
          kind,
          deciding(kind, () => false),
          audit,
        );
        const url = `${house.gateway.origin}${paths.single}`;
        const { result } = (await send(url, modern(call('read_file')))).json();
        expect(result.content[0].text).toBe('read_file');
        expect(house.records.at(-1)).toMatchObject({ decision: 'allow', wouldDeny: ['pdp'] });
        const listed = (await send(url, modern({ method: 'tools/list' }))).json();
        expect(listed.result.tools).toHaveLength(3);
      }
    },
  );

  it('a denial at an endpoint with `hide` looks like an unknown tool', verifies('gateway:policy:hide'), async () => {
    const house = await openDecided(kind, deciding(kind, mayRead), { endpoint: { denials: 'hide' } });
    const url = `${house.gateway.origin}${paths.single}`;
    const { error } = (await send(url, modern(call('delete_file')))).json();
    expect(error.message).toBe('Unknown tool: delete_file');
    expect(error.data.decisionPoint).toBeUndefined();
  });

  it(
    'one denied member of a batch denies all, and nothing of it is sent',
    verifies('gateway:policy:decision-points', 'gateway:policy:no-permit-no-byte'),
    async () => {
      const endpoint = { profile: { revisions: ['2025-03-26'], batches: 'allow' } };
      const house = await openDecided(kind, deciding(kind, mayRead), { endpoint });
      const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { revision: '2025-03-26' });
      house.forget();
      const members = [call('read_file'), { ...call('delete_file'), id: 2 }];
      const answers = (await client.post(members)).json();
      expect(answers.map(({ error }: { error: { code: number } }) => error.code)).toEqual([403, 403]);
      expect(house.a.of('tools/call')).toHaveLength(0);
    },
  );
});

describe('the question', () => {
  const secrets = { path: '/x', apiKey: 'top-secret' };

  it('of AuthZEN has subject, action, resource and context', verifies('gateway:policy:decision-points'), async () => {
    const house = await openDecided(
      'authzen',
      deciding('authzen', () => true),
      { point: { arguments: true } },
    );
    await send(`${house.gateway.origin}${paths.merged}`, modern(call('a__read_file', secrets)));
    const [visit] = house.point.visits;
    expect(visit && asked(visit)).toEqual({
      subject: { type: 'local', id: 'local', properties: { groups: [], claims: {} } },
      action: { name: 'tools/call' },
      resource: {
        type: 'tool',
        id: 'a__read_file',
        properties: { backend: 'a', arguments: { path: '/x', apiKey: '***' } },
      },
      context: { endpoint: '/mcp' },
    });
    expect(visit?.headers['x-request-id']).toBe(house.records.at(-1)?.decisions?.[0]?.id);
  });

  it('of OPA is the input of a rule', verifies('gateway:policy:decision-points'), async () => {
    const house = await openDecided(
      'opa',
      deciding('opa', () => true),
    );
    await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file', secrets)));
    const [visit] = house.point.visits;
    expect(visit && asked(visit)).toEqual({
      input: {
        principal: { kind: 'local', groups: [], claims: {} },
        ...{
          action: 'call',
          method: 'tools/call',
          endpoint: '/one/mcp',
          backend: 'a',
          kind: 'tool',
          name: 'read_file',
        },
      },
    });
  });

  it(
    'of a webhook is signed, and has the message without its secrets',
    verifies('gateway:policy:decision-points'),
    async () => {
      const secret = 'a-secret-of-the-receiver';
      const house = await openDecided(
        'webhook',
        deciding('webhook', () => true),
        { point: { secret } },
      );
      const url = `${house.gateway.origin}${paths.single}`;
      await send(url, modern(call('read_file', secrets)));
      const [visit] = house.point.visits;
      if (visit === undefined) throw new Error('the webhook was not called');
      const timestamp = visit.headers['x-toolhive-timestamp'];
      const signature = createHmac('sha256', secret).update(`${timestamp}.${visit.text}`).digest('hex');
      expect(visit.headers['x-toolhive-signature']).toBe(`sha256=${signature}`);
      const { mcp_request: message, context, version } = asked(visit);
      expect(message.params.arguments).toEqual({ path: '/x', apiKey: '***' });
      expect(context).toMatchObject({ server_name: 'a', source_ip: '127.0.0.1' });
      expect(version).toBe('v0.1.0');
      // Without secrets the message is what the client sent, byte for byte.
      const body =
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"n":1.50}}}';
      const client = await connectLegacy(url);
      await client.post(body);
      expect(house.point.visits.at(-1)?.text).toContain(`"mcp_request":${body}`);
    },
  );

  it('goes to each decision point in order, until one denies', verifies('gateway:policy:decision-points'), async () => {
    const [first, second, third] = await Promise.all([
      decisionPoint(deciding('opa', () => true)),
      decisionPoint(deciding('opa', () => false)),
      decisionPoint(deciding('opa', () => true)),
    ]);
    const decisions = [first, second, third].map((point, at) => pointConfig('opa', point, { name: `p${at}` }));
    const house = await openHouse({ more: { policy: { decisions } } });
    const { error } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file')))).json();
    expect(error.data.decisionPoint).toBe('p1');
    expect([first, second, third].map(({ visits }) => visits.length)).toEqual([1, 1, 0]);
    expect(house.records.at(-1)?.decisions?.map(({ point }) => point)).toEqual(['p0', 'p1']);
  });

  it(
    'is about the actions of `what` alone, and never about openings and pings',
    verifies('gateway:policy:decision-points'),
    async () => {
      const house = await openDecided(
        'opa',
        deciding('opa', () => false),
        { point: { what: ['read'] } },
      );
      const client = await connectLegacy(`${house.gateway.origin}${paths.single}`);
      expect((await client.post({ jsonrpc: '2.0', id: 2, method: 'ping' })).json().result).toEqual({});
      // What no decision point decides needs a rule.
      expect((await client.post(call('read_file'))).json().error.data).toMatchObject({ rules: [] });
      expect(house.point.visits).toHaveLength(0);
    },
  );
});

describe('without rules', () => {
  it('a policy whose decision points only watch is refused', verifies('gateway:policy:decision-points'), async () => {
    const decisions = [{ name: 'pdp', opa: 'http://127.0.0.1:1/', mode: 'audit' }];
    await expect(startGateway({ backends: {}, policy: { decisions } })).rejects.toThrow('no decision point enforces');
  });

  it(
    'a decision point in audit mode leaves its actions denied',
    verifies('gateway:policy:decision-points', 'gateway:policy:no-permit-no-byte'),
    async () => {
      const [watching, reading] = await Promise.all([
        decisionPoint(deciding('opa', () => true)),
        decisionPoint(deciding('opa', () => true)),
      ]);
      const decisions = [
        pointConfig('opa', watching, { mode: 'audit' }),
        pointConfig('opa', reading, { name: 'reads', what: ['read'] }),
      ];
      const house = await openHouse({ more: { policy: { decisions } } });
      const { error } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('delete_file')))).json();
      expect(error.data).toMatchObject({ reason: 'policy_denied', rules: [] });
      expect(house.bytes).toBe(0);
    },
  );
});

it.each([
  { name: 'nothing', result: undefined },
  { name: 'text', result: 'true' },
  { name: 'an object without `allow`', result: { allowed: true } },
  { name: 'an object whose `allow` is text', result: { allow: 'true' } },
  { name: 'false', result: { allow: false } },
])('a rule of OPA with the value $name denies', verifies('gateway:policy:decision-points'), async ({ result }) => {
  const house = await openDecided('opa', ({ response }) => json(response, { result }));
  const { error } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file')))).json();
  expect(error.data.decisionPoint).toBe('pdp');
});

it('a rule of OPA with `{"allow": true}` allows', verifies('gateway:policy:decision-points'), async () => {
  const house = await openDecided('opa', ({ response }) => json(response, { result: { allow: true } }));
  const { result } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file')))).json();
  expect(result.content[0].text).toBe('read_file');
});
