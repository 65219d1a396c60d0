/**
 * Arrays under a policy: refused unread where the profile has none, in every mode and on every way in; else all or
 * nothing.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { batchRefused, refusal } from '../harness/behind.ts';
import { batchWay, call, named, openHouse, ways } from './setup.ts';

const modes = ['enforce', 'audit'] as const;
const allow = { id: 'all', effect: 'allow', what: ['call', 'list'] };

describe.each(modes)('in mode %s', (mode) => {
  it.each(ways)(
    'over $name a batch is rejected, its members unread, and nothing stays open',
    verifies('gateway:policy:no-permit-no-byte', 'gateway:legacy:batch-refused'),
    async ({ enter, where }) => {
      const house = await openHouse({ more: { policy: { mode, rules: [allow] } } });
      const client = await enter(house);
      // Whatever the way in had to say to the backends has been said.
      await client.ask(call(named(where, 'read_file')));
      house.forget();
      expect(await client.ask([call(named(where, 'read_file'))])).toEqual(refusal(batchRefused));
      expect(house.bytes).toBe(0);
      // No rule was asked about it.
      expect(house.records).toMatchObject([{ decision: 'deny', reason: 'unsupported_mcp_batch', rules: [] }]);
    },
  );
});

describe.each(['merged', 'single'] as const)('where the profile allows batches, %s', (where) => {
  const endpoint = { profile: { batches: 'allow' } };
  const noDeletes = { id: 'no-deletes', effect: 'deny', on: { tools: ['*delete*'] } };
  const [read, remove] = [call(named(where, 'read_file')), { ...call(named(where, 'delete_file')), id: 2 }];
  const denied = { code: 403, message: 'Denied by policy', reason: 'policy_denied', data: { rules: ['no-deletes'] } };

  it('a batch whose members are all allowed is served', verifies('gateway:legacy:batch-served'), async () => {
    const house = await openHouse({ endpoint, more: { policy: { rules: [allow] } } });
    const client = await batchWay(where).enter(house);
    const answers = await client.ask([read, { ...read, id: 2 }]);
    expect(
      answers.map(({ id, result }: { id: number; result: object }) => ({ id, done: result !== undefined })),
    ).toEqual([
      { id: 1, done: true },
      { id: 2, done: true },
    ]);
  });

  it(
    'one denied member denies the batch, and no byte of it is forwarded',
    verifies('gateway:legacy:batch-one-denial'),
    async () => {
      const house = await openHouse({ endpoint, more: { policy: { rules: [allow, noDeletes] } } });
      const client = await batchWay(where).enter(house);
      await client.ask(read);
      house.forget();
      const answers = await client.ask([read, remove]);
      expect(answers).toEqual([refusal({ id: 1, ...denied }), refusal({ id: 2, ...denied })]);
      expect(house.bytes).toBe(0);
      expect(house.records.map(({ decision, outcome }) => ({ decision, outcome }))).toEqual(
        expect.arrayContaining([
          { decision: 'deny', outcome: 'denied' },
          { decision: 'allow', outcome: 'cancelled' },
        ]),
      );
    },
  );

  it('a denied notification denies the requests beside it', verifies('gateway:legacy:batch-one-denial'), async () => {
    const quiet = { id: 'quiet', effect: 'deny', what: ['notify'] };
    const house = await openHouse({ endpoint, more: { policy: { rules: [allow, quiet] } } });
    const client = await batchWay(where).enter(house);
    await client.ask(read);
    house.forget();
    const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
    expect(await client.ask([read, changed])).toEqual([refusal({ id: 1, ...denied, data: { rules: ['quiet'] } })]);
    expect(await client.tell([changed])).toBe(403);
    expect(house.bytes).toBe(0);
  });
});
