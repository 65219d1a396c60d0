/** More than is given is 429, with when to come back; what is refused reaches no backend. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, Held } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { call, named, openHouse, paths, ways } from './setup.ts';

const twice = [{ id: 'twice', per: ['principal'], what: ['call'], perSecond: 0.1, burst: 2 }];

it.each(ways)(
  'over $name the third request is refused',
  verifies('gateway:policy:rate-limited'),
  async ({ enter, where }) => {
    const house = await openHouse({ more: { rates: twice } });
    const client = await enter(house);
    const message = call(named(where, 'read_file'));
    for (const n of [1, 2]) expect([n, (await client.ask(message)).result !== undefined]).toEqual([n, true]);
    house.forget();
    expect((await client.ask(message)).error).toMatchObject({
      code: 429,
      data: { reason: 'rate_limited', limit: 'twice' },
    });
    expect(house.bytes).toBe(0);
    expect(house.records).toMatchObject([{ decision: 'deny', reason: 'rate_limited' }]);
  },
);

describe.each(['merged', 'single'] as const)('over HTTP, %s', (where) => {
  it('the status is 429, with Retry-After', verifies('gateway:policy:rate-limited'), async () => {
    const house = await openHouse({ more: { rates: twice } });
    const url = `${house.gateway.origin}${paths[where]}`;
    const message = call(named(where, 'read_file'));
    const client = await connectLegacy(url);
    await client.post(message);
    await send(url, modern(message));
    for (const answer of [await client.post(message), await send(url, modern(message))]) {
      expect(answer.status).toBe(429);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      const { data } = answer.json().error;
      expectRefused(answer, 429, { id: 1, code: 429, message: 'Rate limited', reason: 'rate_limited', data });
    }
  });

  it('calls at the same time count until they are over', verifies('gateway:policy:rate-limited'), async () => {
    const held = new Held();
    const rates = [{ id: 'alone', per: ['tool'], what: ['call'], concurrent: 1 }];
    const house = await openHouse({ script: { 'tools/call': held.take }, more: { rates } });
    const url = `${house.gateway.origin}${paths[where]}`;
    const ask = (name: string) => send(url, modern(call(named(where, name))));
    const first = ask('read_file');
    const turn = await held.nth(1);
    expect((await ask('read_file')).status).toBe(429);
    const other = ask('list_files');
    (await held.nth(2)).result({ content: [] });
    expect((await other).status).toBe(200);
    turn.result({ content: [] });
    expect((await first).status).toBe(200);
    const next = ask('read_file');
    (await held.nth(3)).result({ content: [] });
    expect((await next).status).toBe(200);
  });
});
