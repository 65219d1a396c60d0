/** Time limits of calls. The clock is the test's: a minute passes when it says so. */
import { describe, expect, it } from 'vitest';
import { defaultLimits } from '../../../src/config/limits.ts';
import { verifies } from '../../requirements/verifies.ts';
import { caller, pairOf, timedOut } from '../backend/setup.ts';
import { Held, refusal, streaming } from '../harness/behind.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';

const s = 1000;
const { firstByteMs, idleMs, totalMs } = defaultLimits;
const result = { resultType: 'complete', messages: [] };

describe.each(eras)('a call, %s', (era) => {
  /** A call that its backend has, and a clock that stands at its beginning. */
  async function begun() {
    const clock = new LeapClock();
    const held = new Held();
    const pair = await pairOf(
      era,
      { 'prompts/get': held.take, 'prompts/list': (turn) => turn.result({ ...result, prompts: [] }) },
      { ports: { clock }, limits: streaming },
    );
    const answer = await pair.begin('c', 'prompts/get', { name: 'p', _meta: { progressToken: 't' } });
    return { ...pair, clock, answer, turn: await held.nth(1) };
  }

  /** Progress, and the proof that the gateway has seen it. */
  async function report({ answer, turn }: Awaited<ReturnType<typeof begun>>, progress: number): Promise<void> {
    const { progressToken } = turn.message.params._meta;
    turn.event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } });
    await answer.message(({ params }) => params?.progress === progress);
  }

  it(
    'without any message fails, and the backend gets a cancellation',
    verifies('protocol:timeout:basic', 'protocol:timeout:sends-cancellation', 'protocol:timeout:session-survives'),
    async () => {
      const { clock, answer, turn, backend, ask } = await begun();
      clock.leap(firstByteMs - 1 * s);
      expect(answer.events.filter(({ data }) => data)).toEqual([]);
      clock.leap(2 * s);
      expect(await answer.message(({ id }) => id === 'c')).toEqual(refusal({ ...timedOut('firstByteMs'), id: 'c' }));
      await answer.ended;
      await turn.closed;
      if (era === 'legacy') {
        const { message, headers } = await backend.arrival('notifications/cancelled');
        expect(message.params).toEqual({ requestId: turn.message.id, reason: 'The request timed out' });
        expect(headers['mcp-session-id']).toBe(turn.received.headers['mcp-session-id']);
      }
      expect((await ask(2, 'prompts/list', {})).status).toBe(200);
      expect(backend.of('prompts/list').map(({ headers }) => headers['mcp-session-id'])).toEqual([
        turn.received.headers['mcp-session-id'],
      ]);
    },
  );

  it('that gets no message for too long fails', verifies('protocol:timeout:basic'), async () => {
    const call = await begun();
    call.turn.stream();
    await report(call, 1);
    call.clock.leap(idleMs + 1 * s);
    const failed = await call.answer.message(({ id }) => id === 'c');
    expect(failed).toEqual(refusal({ ...timedOut('idleMs'), id: 'c' }));
  });

  it('that reports progress continues', verifies('protocol:timeout:reset-on-progress'), async () => {
    const call = await begun();
    call.turn.stream();
    for (const progress of [1, 2, 3, 4]) {
      await report(call, progress);
      // Not quite the limit, but twice that is over it.
      call.clock.leap(idleMs - 5 * s);
    }
    call.turn.event({ jsonrpc: '2.0', id: call.turn.message.id, result }).end();
    const done = await call.answer.message(({ id }) => id === 'c');
    expect(done.result.messages).toEqual([]);
  });

  it('has a total limit, whatever it reports', verifies('protocol:timeout:max-total'), async () => {
    const call = await begun();
    call.turn.stream();
    const step = idleMs / 2;
    for (let passed = 0; passed + step < totalMs; passed += step) {
      await report(call, passed);
      call.clock.leap(step);
    }
    await report(call, totalMs);
    call.clock.leap(step);
    const failed = await call.answer.message(({ id }) => id === 'c');
    expect(failed).toEqual(refusal({ ...timedOut('totalMs'), id: 'c' }));
    await call.turn.closed;
  });
});

describe('limits', () => {
  it('of one backend are its own', verifies('protocol:timeout:session-default'), async () => {
    const clock = new LeapClock();
    const turns: Turn[] = [];
    const script = { 'prompts/get': (turn: Turn) => void turns.push(turn) };
    const [hasty, ordinary] = [await modernBackend(script), await legacyBackend(script)];
    const gateway = await startGateway(
      {
        backends: { hasty: { url: hasty.url, limits: { firstByteMs: '5s' } }, ordinary: { url: ordinary.url } },
        limits: streaming,
      },
      { clock },
    );
    const first = await (await caller('modern', gateway.url('hasty'))).begin('c', 'prompts/get', { name: 'p' });
    const second = await (await caller('legacy', gateway.url('ordinary'))).begin('c', 'prompts/get', { name: 'p' });
    await hasty.arrival('prompts/get');
    await ordinary.arrival('prompts/get');
    clock.leap(6 * s);
    expect(await first.message(({ id }) => id === 'c')).toEqual(refusal({ ...timedOut('firstByteMs'), id: 'c' }));
    expect(second.over).toBe(false);
    clock.leap(firstByteMs - 10 * s);
    expect(second.events.filter(({ data }) => data)).toEqual([]);
    clock.leap(10 * s);
    expect(await second.message(({ id }) => id === 'c')).toEqual(refusal({ ...timedOut('firstByteMs'), id: 'c' }));
  });
});
