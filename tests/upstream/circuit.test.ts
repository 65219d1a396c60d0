import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { CallRecorder, callOf, LaneRecorder, limits, permit, settleDown, toolCall } from './support/calls.ts';
import { modernResult, type Rule, rules } from './support/scripted-connector.ts';
import {
  away,
  end,
  least,
  legacyClient,
  modernClient,
  refused,
  setUp,
  unavailable,
} from './support/watched-backend.ts';

describe('a backend that cannot be reached', () => {
  test('is down after one probe, and gets no call until the next probe', async () => {
    const { backend, connector, events, pass } = setUp('http', [unavailable]);
    await expect(backend.discover()).rejects.toBe(away);
    expect(events).toEqual([{ state: 'down', failure: away }]);
    await pass(least - 1);
    await expect(backend.discover()).rejects.toMatchObject({ ...refused, data: { retryAfterMs: 1 } });
    await expect(backend.open(permit, 'modern', modernClient, new LaneRecorder())).rejects.toMatchObject(refused);
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toMatchObject(refused);
    expect(backend.modern).toBeUndefined();
    expect(connector.eras).toHaveLength(1);
  });

  test('is probed by itself with backoff, and reports once that it is down', async () => {
    const { backend, connector, clock, pass, states } = setUp('http', [unavailable]);
    await expect(backend.discover()).rejects.toThrow();
    let looks = 1;
    for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      await pass(pause - 1);
      expect(connector.eras).toHaveLength(looks);
      await pass(1);
      looks += 1;
      expect(connector.eras).toHaveLength(looks);
    }
    expect(states()).toEqual(['down']);
    expect(clock.pending).toHaveLength(1);
  });

  test('reports a different reason', async () => {
    const { backend, events, pass } = setUp('http', [unavailable, (asked) => asked.error(-32_021)]);
    await expect(backend.discover()).rejects.toThrow();
    await pass(least);
    expect(events).toMatchObject([
      { state: 'down', failure: { reason: 'backend_unavailable' } },
      { state: 'down', failure: { reason: 'backend_invalid' } },
    ]);
    await expect(backend.discover()).rejects.toMatchObject(refused);
  });

  test('refuses still while it is looked at, and by one at a time', async () => {
    const { backend, connector, pass, states } = setUp('http', [unavailable, rules.silent]);
    await expect(backend.discover()).rejects.toThrow();
    await pass(least);
    expect(connector.log).toEqual([['server/discover'], ['server/discover']]);
    await expect(backend.discover()).rejects.toMatchObject({ ...refused, data: { retryAfterMs: least } });
    await pass(limits.probeMs - 1);
    expect(connector.channels).toHaveLength(2);
    connector.channels[1]?.last.result(modernResult);
    await settleDown();
    connector.channels[1]?.last.error(-32_601);
    await settleDown();
    expect(states()).toEqual(['down', 'ready']);
    expect((await backend.discover()).eras).toEqual(['modern']);
  });

  test('is back with its current era, and no timer runs any more', async () => {
    const { backend, clock, events, pass, connector } = setUp('http', [unavailable, rules.modern]);
    expect(backend.lastDiscovery).toBeUndefined();
    await expect(backend.discover()).rejects.toThrow();
    await pass(least);
    expect(events).toMatchObject([{ state: 'down' }, { state: 'ready', discovery: { eras: ['modern'] } }]);
    expect(backend.lastDiscovery).toEqual(events[1]?.state === 'ready' && events[1].discovery);
    expect(backend.modern).toBeDefined();
    expect(clock.pending).toEqual([]);
    await pass(limits.probeAgeMs * 2);
    expect(connector.channels).toHaveLength(2);
  });

  test('is looked at no longer once it is closed', async () => {
    const { backend, clock, connector, pass } = setUp('http', [unavailable]);
    await expect(backend.discover()).rejects.toThrow();
    await backend.close();
    expect(clock.pending).toEqual([]);
    await pass(60_000);
    expect(connector.eras).toHaveLength(1);
  });

  test('leaves nothing open when it is closed during a probe', async () => {
    const { backend, clock, connector, pass, states } = setUp('http', [unavailable, rules.silent]);
    await expect(backend.discover()).rejects.toThrow();
    await pass(least);
    const closing = backend.close();
    connector.channels[1]?.last.fail(away);
    await closing;
    await settleDown();
    expect([clock.pending, connector.open, states()]).toEqual([[], 0, ['down']]);
  });

  test('that is too busy for a look is not down for that', async () => {
    const { backend, connector, states } = setUp('stdio', [rules.legacy]);
    connector.refuse = new Failure('backend_busy');
    await expect(backend.discover()).rejects.toMatchObject({ reason: 'backend_busy' });
    expect(states()).toEqual([]);
    connector.refuse = undefined;
    expect((await backend.discover()).eras).toEqual(['legacy']);
  });
});

describe('a listener', () => {
  test('gets every change until it stops, whatever another one does', async () => {
    const { backend, notes, pass, states } = setUp('http', [unavailable, rules.modern]);
    const heard: string[] = [];
    const stop = backend.onChange(({ state }) => heard.push(state));
    backend.onChange(() => {
      throw new Error('a listener broke');
    });
    const late: string[] = [];
    backend.onChange(({ state }) => late.push(state));
    await expect(backend.discover()).rejects.toThrow();
    stop();
    await pass(least);
    expect([heard, late, states()]).toEqual([['down'], ['down', 'ready'], ['down', 'ready']]);
    expect(notes.odds).toEqual(['fault', 'fault']);
  });

  test('gets nothing if a later probe finds the same, and a change if it differs', async () => {
    let capabilities: object = { tools: {} };
    const changing: Rule = (asked) => {
      if (asked.json.method === 'server/discover') asked.result({ ...modernResult, capabilities });
      else asked.error(-32_601);
    };
    const { backend, events, pass } = setUp('http', [changing]);
    await backend.discover();
    await pass(limits.probeAgeMs);
    await backend.discover();
    expect(events).toHaveLength(1);
    capabilities = { tools: {}, prompts: {} };
    await pass(limits.probeAgeMs);
    await backend.discover();
    expect(events).toMatchObject([{ state: 'ready' }, { state: 'ready', discovery: { capabilities } }]);
  });
});

describe('a legacy backend', () => {
  test('whose process cannot be started is found to be down', async () => {
    const { backend, connector, pass, states } = setUp('stdio', [rules.legacy]);
    await backend.discover();
    connector.refuse = new Failure('backend_unavailable', { message: 'Backend process cannot be started' });
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toThrow('cannot be started');
    await pass(least);
    expect(states()).toEqual(['ready', 'down']);
    const { length } = connector.eras;
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toMatchObject(refused);
    expect(connector.eras).toHaveLength(length);
  });

  test('that does not answer a client is looked at', async () => {
    const { backend, connector, pass } = setUp('http', [rules.legacy]);
    await backend.discover();
    connector.rules = [rules.silent];
    const opening = backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    opening.catch(() => undefined);
    await settleDown();
    await pass(limits.firstByteMs);
    await expect(opening).rejects.toMatchObject({ reason: 'backend_timeout' });
    expect(connector.channels).toHaveLength(2);
    await pass(least);
    expect(connector.log.slice(2)).toEqual([['server/discover']]);
  });

  test('that exits on a probe is started a second time, however long the pause is', async () => {
    const { backend, connector } = setUp('stdio', [rules.touchy]);
    await backend.discover();
    expect(connector.patience).toEqual([undefined, limits.restartMaxMs]);
  });

  test('whose processes exit immediately is down after a few', async () => {
    const { backend, connector, states } = setUp('stdio', [rules.legacy]);
    await backend.discover();
    connector.rules = [rules.broken];
    for (let n = 0; n < limits.downAfter; n += 1) {
      await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toThrow();
    }
    expect(states()).toEqual(['ready', 'down']);
  });

  test('whose processes exit in the middle of a call is not: they were started', async () => {
    const { backend, connector, pass, states } = setUp('stdio', [rules.legacy]);
    for (let n = 0; n < limits.downAfter * 2; n += 1) {
      const lane = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
      const sink = new CallRecorder();
      lane.call(permit, callOf(toolCall), sink);
      await settleDown();
      connector.channels.at(-1)?.lose();
      expect(sink.ends).toEqual(['failure backend_unavailable']);
    }
    await pass(60_000);
    expect(states()).toEqual(['ready']);
    expect(connector.channels).toHaveLength(limits.downAfter * 2 + 1);
  });

  test('over stdio serves its sessions, though no other process can be started', async () => {
    const { backend, connector, pass, states } = setUp('stdio', [rules.legacy]);
    const lane = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    connector.refuse = new Failure('backend_unavailable');
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toThrow();
    await pass(least);
    expect(states()).toEqual(['ready', 'down']);
    const sink = await end(lane);
    connector.channels[1]?.last.result({});
    expect(sink.ends).toEqual(['result legacy']);
  });

  test('over HTTP is not troubled by the sessions that it had either', async () => {
    const { backend, connector, asked, states } = setUp('http', [rules.legacy]);
    const lane = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    const channel = connector.channels[1];
    if (channel !== undefined) channel.onRequest = (one) => one.fail(away);
    for (let n = 0; n < limits.downAfter; n += 1) {
      expect((await end(lane)).ends).toEqual(['failure backend_unavailable']);
    }
    expect(states()).toEqual(['ready', 'down']);
    const { length } = asked();
    expect((await end(lane)).outcomes).toMatchObject([{ failure: refused }]);
    expect(asked()).toHaveLength(length);
  });

  test('that refuses a client with a status is not down for that', async () => {
    const { backend, connector, states } = setUp('http', [rules.legacy]);
    await backend.discover();
    connector.rules = [(one) => one.fail(away, { status: 401, sessionId: undefined })];
    for (let n = 0; n < limits.downAfter * 2; n += 1) {
      await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toThrow();
    }
    expect(states()).toEqual(['ready']);
  });
});
