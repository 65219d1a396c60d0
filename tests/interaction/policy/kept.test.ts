/**
 * What clients say of themselves has a bound, and a response that nothing waits for leaves a record and nothing else.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send, until } from '../harness/client.ts';
import { eras, initialize, modern } from '../harness/eras.ts';
import { legacyWays, openHouse, paths } from './setup.ts';

describe.each(eras)('with %s backends', (era) => {
  it.each(legacyWays)(
    'over $name a response that matches no server request is dropped and recorded',
    verifies('gateway:policy:unasked-response'),
    async (way) => {
      const house = await openHouse({ era, more: { policy: { rules: [{ id: 'all', effect: 'allow' }] } } });
      const client = await way.enter(house);
      await client.ask({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const dropped = () => house.records.filter(({ reason }) => reason === 'unasked_response');
      for (const body of [
        { jsonrpc: '2.0', id: 'nothing-asked', result: {} },
        { jsonrpc: '2.0', id: 17, error: { code: -1, message: 'no' } },
      ]) {
        const before = dropped().length;
        expect([202, undefined]).toContain(await client.tell(body));
        await until(() => dropped().length === before + 1, 'it was recorded');
      }
      expect(dropped()[0]).toMatchObject({
        decision: 'deny',
        outcome: 'denied',
        endpoint: paths[way.where],
        rules: [],
      });
      const heard = [...house.a.received, ...house.b.received].map(({ message }) => message as Json);
      expect(heard.filter((message) => message?.id === 'nothing-asked' || message?.id === 17)).toEqual([]);
    },
  );
});

describe.each(['merged', 'single'] as const)('clientInfo of more than 64 KiB, %s', (where) => {
  const info = { name: 'x'.repeat(70_000), version: '1' };

  it('is refused in initialize and in a modern request', verifies('gateway:policy:kept-small'), async () => {
    const house = await openHouse();
    const url = `${house.gateway.origin}${paths[where]}`;
    const opening: Json = initialize();
    const answer = await send(url, { body: { ...opening, params: { ...opening.params, clientInfo: info } } });
    expect(answer.json().error).toMatchObject({ code: -32602, message: 'clientInfo may have at most 65536 bytes' });
    const meta = { 'io.modelcontextprotocol/clientInfo': info };
    const refused = await send(url, modern({ method: 'tools/list', meta }));
    expect(refused.json().error).toMatchObject({ code: -32602, message: 'clientInfo may have at most 65536 bytes' });
    const fitting = { ...info, name: 'x'.repeat(60_000) };
    const opened = await send(url, { body: { ...opening, params: { ...opening.params, clientInfo: fitting } } });
    expect(opened.json().result).toBeDefined();
  });
});
