import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { LocalRefusal } from '../../src/upstream/health.ts';
import { CallRecorder, callOf, limits, permit, settleDown, toolCall } from './support/calls.ts';
import { type Rule, rules } from './support/scripted-connector.ts';
import { away, end, least, modernLane, refused } from './support/watched-backend.ts';

describe('calls to a modern backend over HTTP', () => {
  test('that cannot reach it in a row open the circuit, and the next is not sent', async () => {
    const { asked, backend, channel, lane, states } = await modernLane('http');
    channel.onRequest = (one) => one.fail(away);
    for (let n = 1; n <= limits.downAfter; n += 1) {
      expect(states()).toEqual(['ready']);
      expect(backend.modern).toBe(lane);
      expect((await end(lane)).ends).toEqual(['failure backend_unavailable']);
    }
    expect(states()).toEqual(['ready', 'down']);
    const { length } = asked();
    expect((await end(lane)).outcomes).toMatchObject([{ kind: 'failure', failure: refused }]);
    expect(backend.modern).toBeUndefined();
    expect(asked()).toHaveLength(length);
    expect(backend.lastDiscovery?.eras).toEqual(['modern']);
  });

  test.each<{ name: string; rule: Rule }>([
    { name: 'answered with an error', rule: (one) => one.error(-32_603) },
    { name: 'refused with a status', rule: (one) => one.fail(away, { status: 503, sessionId: undefined }) },
    { name: 'cut off in the middle', rule: (one) => one.fail(away, { status: 200, sessionId: undefined }) },
    { name: 'answered with rubbish', rule: (one) => one.fail(new Failure('backend_invalid')) },
  ])('that are $name are not failures of the backend', async ({ rule }) => {
    const { channel, clock, lane, states } = await modernLane('http');
    channel.onRequest = (one) => rule(one, channel);
    for (let n = 0; n < limits.downAfter * 2; n += 1) await end(lane);
    expect(states()).toEqual(['ready']);
    // But for the timer that looks after running calls.
    expect(clock.pending.filter((ms) => ms === least)).toEqual([]);
  });

  test('that were in flight together count as one failure', async () => {
    const { channel, lane, pass, states } = await modernLane('http');
    channel.onRequest = undefined;
    for (let n = 0; n < limits.downAfter * 2; n += 1) lane.call(permit, callOf(toolCall), new CallRecorder());
    await pass(100);
    for (const one of channel.asked) one.fail(away);
    expect(states()).toEqual(['ready']);
  });

  test('that get an answer in between start the count anew', async () => {
    const { channel, lane, states } = await modernLane('http');
    for (let n = 0; n < limits.downAfter * 2; n += 1) {
      channel.onRequest = (one) => (n % limits.downAfter === 0 ? one.error(-32_603) : one.fail(away));
      await end(lane);
    }
    expect(states()).toEqual(['ready']);
  });

  test('of which one failed make the backend probe by itself, without another call', async () => {
    const { channel, lane, pass, states } = await modernLane('http');
    channel.onRequest = (one) => one.fail(away);
    await end(lane);
    expect(states()).toEqual(['ready']);
    await pass(least);
    expect(states()).toEqual(['ready', 'down']);
    channel.onRequest = (one) => rules.modern(one);
    await pass(least);
    expect(states()).toEqual(['ready', 'down', 'ready']);
    channel.onRequest = (one) => one.result({ resultType: 'complete' });
    expect((await end(lane)).ends).toEqual(['result modern']);
  });

  test('that are never answered are followed by a probe; a slow tool has no consequence', async () => {
    const { asked, channel, lane, pass, states } = await modernLane('http');
    channel.onRequest = undefined;
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.onRequest = (one) => rules.modern(one);
    await pass(limits.firstByteMs + 250);
    expect(sink.ends).toEqual(['failure backend_timeout']);
    const before = asked().length;
    await pass(least);
    expect(asked().slice(before)).toEqual(['server/discover']);
    expect(states()).toEqual(['ready']);
  });

  test('that stop in the middle are not: the backend was reachable', async () => {
    const { asked, channel, lane, pass } = await modernLane('http');
    channel.onRequest = undefined;
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.sink.alive();
    await pass(limits.idleMs + 250);
    expect(sink.ends).toEqual(['failure backend_timeout']);
    const { length } = asked();
    await pass(60_000);
    expect(asked()).toHaveLength(length);
  });

  test('that stall with the whole backend are refused as soon as that is known', async () => {
    const { asked, channel, lane, pass, states } = await modernLane('http');
    channel.onRequest = undefined;
    lane.call(permit, callOf(toolCall), new CallRecorder());
    await pass(limits.firstByteMs + 250);
    await pass(least);
    await pass(limits.probeMs);
    expect(states()).toEqual(['ready', 'down']);
    const { length } = asked();
    expect((await end(lane)).outcomes).toMatchObject([{ kind: 'failure', failure: refused }]);
    expect(asked()).toHaveLength(length);
  });

  test('of which one is answered after all close the circuit', async () => {
    const { channel, lane, states } = await modernLane('http');
    channel.onRequest = undefined;
    const early = new CallRecorder();
    lane.call(permit, callOf(toolCall), early);
    const first = channel.last;
    channel.onRequest = (one) => one.fail(away);
    for (let n = 0; n < limits.downAfter; n += 1) await end(lane);
    expect(states()).toEqual(['ready', 'down']);
    first.result({ resultType: 'complete' });
    expect(early.ends).toEqual(['result modern']);
    expect(states()).toEqual(['ready', 'down', 'ready']);
  });
});

describe('a modern process that ended', () => {
  test('is restarted without another call, and is down if it cannot be started', async () => {
    const { channel, connector, pass, states } = await modernLane('stdio');
    channel.lose();
    connector.refuse = new Failure('backend_unavailable');
    expect(states()).toEqual(['ready']);
    await pass(least);
    expect(states()).toEqual(['ready', 'down']);
    connector.refuse = undefined;
    await pass(least);
    expect(states()).toEqual(['ready', 'down', 'ready']);
  });

  test('and is restarted is not reported', async () => {
    const { channel, connector, pass, states, clock } = await modernLane('stdio');
    channel.lose();
    await pass(least);
    expect(connector.channels).toHaveLength(2);
    expect([states(), clock.pending]).toEqual([['ready'], []]);
  });

  test('because we ended it is not started again', async () => {
    const { channel, connector, pass, states } = await modernLane('stdio');
    channel.lose(new LocalRefusal({ message: 'Backend process was ended because it was idle' }));
    await pass(60_000);
    expect(connector.channels).toHaveLength(1);
    expect(states()).toEqual(['ready']);
  });

  test('under several calls failed once', async () => {
    const { connector, lane, states } = await modernLane('stdio');
    for (let n = 1; n < limits.downAfter; n += 1) {
      const sinks = [new CallRecorder(), new CallRecorder()];
      for (const sink of sinks) lane.call(permit, callOf(toolCall), sink);
      await settleDown();
      connector.channels.at(-1)?.lose();
      for (const sink of sinks) expect(sink.ends).toEqual(['failure backend_unavailable']);
    }
    expect(states()).toEqual(['ready']);
  });

  test('again and again without an answer opens the circuit', async () => {
    const { connector, lane, states, asked } = await modernLane('stdio');
    connector.rules = [rules.broken];
    connector.channels[0]?.lose();
    for (let n = 1; n < limits.downAfter; n += 1) {
      expect((await end(lane)).ends).toEqual(['failure backend_unavailable']);
    }
    expect(states()).toEqual(['ready', 'down']);
    const { length } = asked();
    expect((await end(lane)).outcomes).toMatchObject([{ failure: refused }]);
    expect(asked()).toHaveLength(length);
  });

  test('and cannot be started for one call after the other opens the circuit', async () => {
    const { channel, connector, lane, states } = await modernLane('stdio');
    channel.lose();
    connector.refuse = new Failure('backend_unavailable');
    for (let n = 1; n < limits.downAfter; n += 1) {
      expect(states()).toEqual(['ready']);
      await end(lane);
    }
    expect(states()).toEqual(['ready', 'down']);
  });

  test('and does not answer once it was started again stays in doubt', async () => {
    const { asked, channel, connector, pass, states, lane } = await modernLane('stdio');
    connector.rules = [rules.silent];
    channel.lose();
    await pass(least);
    await pass(limits.probeMs);
    expect([states(), asked().slice(1)]).toEqual([['ready'], ['server/discover']]);
    await pass(least);
    expect(asked().slice(1)).toEqual(['server/discover', 'server/discover']);
    const sink = await end(lane);
    connector.channels[1]?.last.result({ resultType: 'complete' });
    expect(sink.ends).toEqual(['result modern']);
  });
});
