/** Pings are answered where they arrive, whichever side sends them. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, call, Held, request, result, streaming, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';

describe('a ping', () => {
  it('of a client reaches no backend', verifies('ping:client-to-server', 'lifecycle:ping'), async () => {
    const { url, backend } = await behindLegacy();
    const client = await connectLegacy(url);
    await backend.standing();
    backend.forget();
    for (const id of [0, 'p', 2 ** 40]) {
      const answer = await client.post(request(id, 'ping'));
      expect({ status: answer.status, body: answer.json() }).toEqual({ status: 200, body: result(id, {}) });
    }
    expect(backend.bytes).toBe(0);
  });

  it('of a backend reaches no client', verifies('ping:server-to-client', 'lifecycle:ping'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const standing = await backend.standing();
    const listening = await client.listen();
    const calling = await client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(request(0, 'ping'));
    standing.event(request('p', 'ping'));
    const answers = () =>
      backend.received.map(({ message }) => message).filter((message) => message?.result !== undefined);
    await until(() => answers().length === 2, 'both pings are answered');
    expect(answers()).toEqual(expect.arrayContaining([result(0, {}), result('p', {})]));
    turn.event(result(turn.message.id, text('done'))).end();
    await calling.ended;
    const said = [...calling.events, ...listening.events].flatMap((event) => (event.data ? [event.json()] : []));
    expect(said).toEqual([result('c', text('done'))]);
  });
});
