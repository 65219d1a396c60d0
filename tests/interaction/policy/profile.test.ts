/** What a profile is strict about is refused before any rule, in audit mode too, on every way in. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, named, openHouse, ways } from './setup.ts';

const script = {
  'tools/list': (turn: { result(value: object): void }) =>
    turn.result({ tools: ['read_file', 'read/file'].map((name) => ({ name, inputSchema: { type: 'object' } })) }),
};
const more = { policy: { mode: 'audit', rules: [{ id: 'all', effect: 'allow', what: ['call'] }] } };

describe.each(ways)('over $name', ({ enter, where }) => {
  it('a body over the size of the endpoint is refused', verifies('gateway:policy:strict-profile'), async () => {
    const house = await openHouse({ more, endpoint: { profile: { bodyBytes: 2048, jsonDepth: 8 } } });
    const client = await enter(house);
    await client.ask(call(named(where, 'read_file')));
    house.forget();
    const large = await client.ask(call(named(where, 'read_file'), { text: 'x'.repeat(4096) }));
    expect(large.error.data.reason).toMatch(/^body_too_large$|^parse_error$/);
    const deep = await client.ask(call(named(where, 'read_file'), { a: { b: { c: { d: { e: { f: {} } } } } } }));
    expect(deep.error.data.reason).toBe('too_deep');
    expect(house.bytes).toBe(0);
  });

  it.runIf(where === 'single')(
    'a tool with a non-plain name is neither called nor listed, if names must be plain',
    verifies('gateway:policy:strict-profile'),
    async () => {
      const house = await openHouse({ script, more, endpoint: { profile: { toolNames: 'plain' } } });
      const client = await enter(house);
      const { result } = await client.ask({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(['read_file']);
      house.forget();
      const { error } = await client.ask(call('read/file'));
      expect([error.code, error.data.reason]).toEqual([-32602, 'invalid_params']);
      expect(house.bytes).toBe(0);
      expect(house.records).toMatchObject([{ decision: 'deny', reason: 'invalid_params', outcome: 'denied' }]);
    },
  );
});
