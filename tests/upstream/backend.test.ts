import { describe, expect, test } from 'vitest';
import { Failure, type Reason } from '../../src/errors/failure.ts';
import { LiveBackend } from '../../src/upstream/backend.ts';
import { Backoff } from '../../src/upstream/backoff.ts';
import {
  CallRecorder,
  callOf,
  client,
  LaneRecorder,
  limits,
  OddNotes,
  permit,
  settleDown,
  told,
  toolCall,
} from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { agree, modernResult, type Rule, rules, ScriptedConnector } from './support/scripted-connector.ts';

const pauses = { restartMinMs: 500, restartMaxMs: 30_000 };

function setUp(transport: 'stdio' | 'http', script: Rule[], share = false) {
  const clock = new ManualClock();
  const connector = new ScriptedConnector(transport, ...script);
  const states: string[] = [];
  const backend = new LiveBackend({
    name: 'b',
    connector,
    limits,
    clock,
    notes: new OddNotes(),
    self: '{}',
    share,
    backoff: new Backoff(pauses, () => 1),
  });
  backend.onChange(({ state }) => states.push(state));
  return { backend, clock, connector, states };
}

const legacyClient = client('2025-11-25');
const modernClient = client('2026-07-28');

describe('the era of a backend', () => {
  test('is probed once, for all concurrent calls', async () => {
    const { backend, connector, states } = setUp('http', [rules.modern]);
    expect(backend.state).toEqual({ state: 'starting' });
    const [first, second] = await Promise.all([backend.discover(), backend.discover()]);
    expect(first).toBe(second);
    expect(await backend.discover()).toBe(first);
    expect(connector.log).toEqual([['server/discover', 'initialize']]);
    expect(states).toEqual(['ready']);
    expect(backend.state).toEqual({ state: 'ready', discovery: first });
  });

  test('is probed again when the result is old, on the channel that is in use', async () => {
    const { backend, clock, connector } = setUp('http', [rules.modern]);
    await backend.discover();
    clock.advance(limits.probeAgeMs);
    await backend.discover();
    expect(connector.log).toEqual([['server/discover', 'initialize', 'server/discover']]);
  });

  test('keeps the legacy half that was found when it is probed again', async () => {
    const { backend, clock } = setUp('http', [
      (asked) => (asked.json.method === 'initialize' ? agree(asked) : asked.result(modernResult)),
    ]);
    expect((await backend.discover()).eras).toEqual(['modern', 'legacy']);
    clock.advance(limits.probeAgeMs);
    expect((await backend.discover()).eras).toEqual(['modern', 'legacy']);
  });

  test('is down while it cannot be reached, and is not probed again at once', async () => {
    const down: Rule = (asked) => asked.fail(new Failure('backend_unavailable'));
    const { backend, clock, connector, states } = setUp('http', [down, rules.modern]);
    await expect(backend.discover()).rejects.toMatchObject({ reason: 'backend_unavailable' });
    await expect(backend.discover()).rejects.toMatchObject({ reason: 'backend_unavailable' });
    expect(connector.channels).toHaveLength(1);
    clock.advance(pauses.restartMinMs);
    await settleDown();
    await backend.discover();
    expect(connector.channels).toHaveLength(2);
    expect(states).toEqual(['down', 'ready']);
  });

  test('is probed again after a doubt, unless it was probed a moment ago', async () => {
    const { backend, clock, connector } = setUp('http', [rules.modern]);
    const lane = await backend.open(permit, 'modern', modernClient, new LaneRecorder());
    const provoke = () => {
      lane.call(permit, callOf(toolCall), new CallRecorder());
      connector.channels[0]?.last.error(-32601, { status: 404, sessionId: undefined });
    };
    provoke();
    await backend.discover();
    expect(connector.log[0]?.slice(2)).toEqual(['tools/call']);
    clock.advance(10_000);
    provoke();
    await backend.discover();
    expect(connector.log[0]?.slice(2)).toEqual(['tools/call', 'tools/call', 'server/discover']);
  });

  test('may change: a modern backend that became legacy is served as such', async () => {
    const { backend, clock, connector } = setUp('http', [rules.modern, rules.legacy]);
    await backend.discover();
    const channel = connector.channels[0];
    if (channel !== undefined) channel.onRequest = (asked) => rules.legacy(asked);
    clock.advance(limits.probeAgeMs);
    expect((await backend.discover()).eras).toEqual(['legacy']);
    await expect(backend.open(permit, 'modern', modernClient, new LaneRecorder())).rejects.toMatchObject({
      reason: 'backend_invalid',
    });
    const lane = await backend.open(permit, 'legacy', modernClient, new LaneRecorder());
    expect(lane.era).toBe('legacy');
  });

  test('a session with the same result makes another probe needless', async () => {
    const { backend, clock, connector } = setUp('stdio', [rules.legacy]);
    await backend.discover();
    clock.advance(limits.probeAgeMs - 1);
    await backend.open(permit, 'legacy', client('2025-06-18'), new LaneRecorder());
    clock.advance(limits.probeAgeMs - 1);
    await backend.discover();
    expect(connector.log).toEqual([['server/discover', 'initialize'], ['initialize']]);
  });
});

describe('an address of HTTP+SSE', () => {
  const refusing: Rule = (asked) => asked.fail(new Failure('backend_invalid'), { status: 405, sessionId: undefined });

  function setUpOlder() {
    const { connector, ...rest } = setUp('http', [refusing]);
    const older = new ScriptedConnector('sse', rules.legacy);
    connector.older = older;
    return { ...rest, connector, older };
  }

  test('is remembered with the discovery, and its sessions are opened there at once', async () => {
    const { backend, connector, older } = setUpOlder();
    await backend.discover();
    const lane = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    await backend.open(permit, 'legacy', modernClient, new LaneRecorder());
    expect(lane.attributesAsks).toBe(false);
    expect(connector.log).toEqual([['server/discover', 'initialize']]);
    expect(older.log).toEqual([['initialize'], ['initialize'], ['initialize']]);
    expect(older.patience).toEqual([limits.probeMs, undefined, undefined]);
  });

  test('is looked for again when the knowledge is old, after Streamable HTTP', async () => {
    const { backend, clock, connector, older } = setUpOlder();
    await backend.discover();
    clock.advance(limits.probeAgeMs);
    await backend.discover();
    expect([connector.log.length, older.log.length]).toEqual([2, 2]);
    connector.rules = [rules.legacy];
    clock.advance(limits.probeAgeMs);
    await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    expect(older.log).toHaveLength(2);
    expect(connector.log.slice(2)).toEqual([['server/discover', 'initialize'], ['initialize']]);
  });

  test('with another response is doubted; one that is down, or busy, is not', async () => {
    const { backend, clock, connector, older } = setUpOlder();
    await backend.discover();
    const refused = async (reason: Reason) => {
      older.refuse = new Failure(reason);
      await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toMatchObject({ reason });
    };
    clock.advance(10_000);
    for (const reason of ['backend_unavailable', 'backend_busy'] as const) await refused(reason);
    older.refuse = undefined;
    await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    expect(connector.log).toHaveLength(1);
    clock.advance(10_000);
    await refused('backend_invalid');
    connector.rules = [rules.legacy];
    await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    expect(connector.log.slice(1)).toEqual([['server/discover', 'initialize'], ['initialize']]);
  });
});

describe('upstream sessions', () => {
  test('of a modern backend are one for all clients', async () => {
    const { backend, connector } = setUp('stdio', [rules.modern]);
    const first = await backend.open(permit, 'modern', modernClient, new LaneRecorder());
    const second = await backend.open(permit, 'modern', legacyClient, new LaneRecorder());
    expect(first).toBe(second);
    expect(connector.channels).toHaveLength(1);
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toMatchObject({
      reason: 'backend_invalid',
    });
  });

  test('of a legacy backend are a channel each', async () => {
    const { backend, connector } = setUp('stdio', [rules.legacy]);
    const first = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    const second = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    expect(first).not.toBe(second);
    expect(connector.eras).toEqual(['modern', 'legacy', 'legacy']);
    await settleDown();
    // The third is that of the probe, which goes on serving lists.
    expect(connector.open).toBe(3);
    first.close();
    await settleDown();
    expect(connector.open).toBe(2);
  });

  test('a backend with both eras serves each in its own', async () => {
    const { backend } = setUp('http', [rules.dual]);
    const lanes = await Promise.all([
      backend.open(permit, 'modern', modernClient, new LaneRecorder()),
      backend.open(permit, 'legacy', legacyClient, new LaneRecorder()),
    ]);
    expect(lanes.map(({ era }) => era)).toEqual(['modern', 'legacy']);
  });

  test('cannot be opened where no channel can', async () => {
    const { backend, connector } = setUp('stdio', [rules.legacy]);
    await backend.discover();
    connector.refuse = new Failure('backend_busy');
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toMatchObject({
      reason: 'backend_busy',
    });
  });
});

describe('a modern process that ends', () => {
  async function running() {
    const parts = setUp('stdio', [rules.modern]);
    const lane = await parts.backend.open(permit, 'modern', modernClient, new LaneRecorder());
    return { ...parts, lane };
  }

  test('fails calls in flight, and is started again for the next call', async () => {
    const { connector, lane } = await running();
    const [before, after] = [new CallRecorder(), new CallRecorder()];
    lane.call(permit, callOf(toolCall), before);
    connector.channels[0]?.lose();
    expect(before.ends).toEqual(['failure backend_unavailable']);
    lane.call(permit, callOf(toolCall), after);
    await settleDown();
    expect(connector.channels).toHaveLength(2);
    expect(connector.channels[1]?.last.json.id).not.toBe(connector.channels[0]?.last.json.id);
    connector.channels[1]?.last.result({});
    expect(after.ends).toEqual(['result modern']);
  });

  test('calls wait together while it starts; one that is cancelled meanwhile is not sent', async () => {
    const { connector, lane } = await running();
    connector.channels[0]?.lose();
    lane.call(permit, callOf(toolCall), new CallRecorder());
    lane.call(permit, callOf(toolCall), new CallRecorder()).cancel();
    lane.call(permit, callOf(toolCall), new CallRecorder());
    await settleDown();
    expect(connector.channels).toHaveLength(2);
    expect(connector.channels[1]?.asked).toHaveLength(2);
  });

  test('calls fail where it cannot be started', async () => {
    const { connector, lane } = await running();
    connector.channels[0]?.lose();
    connector.refuse = new Failure('backend_unavailable');
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    await settleDown();
    expect(sink.ends).toEqual(['failure backend_unavailable']);
  });

  test('a stampede while it starts is bounded', async () => {
    const { connector, lane } = await running();
    connector.channels[0]?.lose();
    const sinks = Array.from({ length: 300 }, () => new CallRecorder());
    for (const sink of sinks) lane.call(permit, callOf(toolCall), sink);
    await settleDown();
    expect(sinks.filter(({ ends }) => ends[0] === 'failure backend_busy')).toHaveLength(300 - 256);
  });

  test('one that is too busy to answer a probe keeps its state', async () => {
    const { backend, clock, connector } = await running();
    const channel = connector.channels[0];
    if (channel !== undefined) channel.onRequest = undefined;
    clock.advance(limits.probeAgeMs);
    const again = backend.discover();
    await clock.waiting(limits.probeMs);
    clock.advance(limits.probeMs);
    expect((await again).eras).toEqual(['modern']);
    expect(connector.open).toBe(1);
  });
});

describe('a legacy process that is shared', () => {
  test('is initialized once, and its clients get messages without a call', async () => {
    const { backend, connector } = setUp('stdio', [rules.legacy], true);
    const [firstSink, secondSink] = [new LaneRecorder(), new LaneRecorder()];
    const [first, second] = await Promise.all([
      backend.open(permit, 'legacy', legacyClient, firstSink),
      backend.open(permit, 'legacy', legacyClient, secondSink),
    ]);
    expect(connector.channels).toHaveLength(2);
    const channel = connector.channels[1];
    const initialized = told('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    first.notify(permit, initialized);
    second.notify(permit, initialized);
    expect(channel?.posts).toHaveLength(1);
    channel?.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect([firstSink.notes.length, secondSink.notes.length]).toEqual([1, 1]);

    channel?.say({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
    expect(channel?.posted()[1]).toMatchObject({ id: 1, error: { code: -32601 } });

    second.close();
    channel?.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    channel?.say({ jsonrpc: '2.0', id: 2, method: 'roots/list' });
    expect([firstSink.notes.length, secondSink.notes.length]).toEqual([2, 1]);
    expect(firstSink.asks).toHaveLength(1);
    expect(connector.open).toBe(1);
  });

  test('is started anew after it ended', async () => {
    const { backend, connector } = setUp('stdio', [rules.legacy], true);
    const sink = new LaneRecorder();
    await backend.open(permit, 'legacy', legacyClient, sink);
    connector.channels[1]?.lose();
    expect(sink.losses).toHaveLength(1);
    await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    expect(connector.channels).toHaveLength(3);
  });

  test('that cannot be opened is tried again by the next client', async () => {
    const { backend, connector } = setUp('stdio', [rules.legacy], true);
    await backend.discover();
    connector.refuse = new Failure('backend_busy');
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toThrow();
    connector.refuse = undefined;
    expect((await backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).era).toBe('legacy');
  });
});

describe('closing', () => {
  test('ends calls, sessions, channels and timers, and accepts nothing new', async () => {
    const { backend, clock, connector } = setUp('stdio', [rules.dual]);
    const modern = await backend.open(permit, 'modern', modernClient, new LaneRecorder());
    const legacy = await backend.open(permit, 'legacy', legacyClient, new LaneRecorder());
    const sinks = [new CallRecorder(), new CallRecorder()];
    modern.call(permit, callOf(toolCall), sinks[0] as CallRecorder);
    legacy.call(permit, callOf(toolCall), sinks[1] as CallRecorder);
    const closing = backend.close();
    expect(backend.close()).toBe(closing);
    await closing;
    expect(sinks.map(({ ends }) => ends)).toEqual([['failure backend_unavailable'], ['failure backend_unavailable']]);
    expect([connector.open, connector.closed]).toEqual([0, true]);
    expect(clock.pending).toEqual([]);
    await expect(backend.discover()).rejects.toMatchObject({ reason: 'backend_unavailable' });
    await expect(backend.open(permit, 'legacy', legacyClient, new LaneRecorder())).rejects.toMatchObject({
      reason: 'backend_unavailable',
    });
  });

  test('during a probe leaves nothing open', async () => {
    const slow: Rule = (asked) => {
      if (asked.json.method === 'initialize') asked.error(-32601);
    };
    const { backend, connector, states } = setUp('http', [slow]);
    const probing = backend.discover();
    probing.catch(() => undefined);
    await settleDown();
    const closing = backend.close();
    connector.channels[0]?.last.result({ supportedVersions: ['2026-07-28'], capabilities: {} });
    await closing;
    await expect(probing).rejects.toMatchObject({ reason: 'backend_unavailable' });
    expect(connector.open).toBe(0);
    expect(states).toEqual([]);
  });
});
