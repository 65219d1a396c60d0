/** What a backend says of its tools counts where it is believed, and nowhere else. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Turn } from '../harness/http-backend.ts';
import { call, named, openHouse, ways } from './setup.ts';

const script = {
  'tools/list': (turn: Turn) =>
    turn.result({
      resultType: 'complete',
      tools: [
        { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
        { name: 'change', inputSchema: { type: 'object' } },
      ],
      ttlMs: 60_000,
      cacheScope: 'public',
    }),
};
const rules = [{ id: 'look', effect: 'allow', what: ['call'], on: { annotations: { readOnlyHint: true } } }];
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

describe.each(['legacy', 'modern'] as const)('of %s backends', (era) => {
  it.each(ways)(
    'decide over $name, of a trusted backend alone',
    verifies('gateway:policy:annotations'),
    async (way) => {
      const house = await openHouse({ era, script, more: { policy: { trustAnnotationsOf: ['a'], rules } } });
      const client = await way.enter(house);
      const look = await client.ask(call(named(way.where, 'look')));
      expect(look.result.content[0].text).toBe('look');
      expect((await client.ask(call(named(way.where, 'change')))).error.code).toBe(403);
      const { result } = await client.ask(list);
      expect(result.tools.map(({ name }: { name: string }) => name)).toEqual([named(way.where, 'look')]);
      if (way.where === 'merged') expect((await client.ask(call('b__look'))).error.code).toBe(403);
      const called = [...house.a.of('tools/call'), ...house.b.of('tools/call')].map(
        ({ message }) => message.params.name,
      );
      expect(called).toEqual(['look']);
    },
  );
});
