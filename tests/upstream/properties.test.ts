import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { UpstreamSession } from '../../src/exchange/upstream-session.ts';
import { Deadlines } from '../../src/upstream/deadlines.ts';
import { Ids } from '../../src/upstream/envelope.ts';
import { LegacyUpstreamSession } from '../../src/upstream/legacy.ts';
import { ModernUpstreamSession } from '../../src/upstream/modern.ts';
import { openProbedChannel } from '../../src/upstream/probed-channel.ts';
import { ListRelay } from '../../src/upstream/standalone-state.ts';
import {
  CallRecorder,
  callOf,
  client,
  LaneRecorder,
  limits,
  OddNotes,
  permit,
  settleDown,
  untroubled,
} from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { ScriptedChannel } from './support/scripted-channel.ts';

/** fast-check prints it with a failure. */
const seed = Number(process.env.BASCULE_SEED ?? 20260728);

/** What a backend may come up with: known methods and others, with members of any type in the places that are read. */
const id = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom('1', '2', 'x'));
const loose = fc.oneof(id, fc.constantFrom(null, 1.5, {}, []));
const method = fc.constantFrom(
  'notifications/progress',
  'notifications/message',
  'notifications/cancelled',
  'notifications/subscriptions/acknowledged',
  'notifications/tools/list_changed',
  'ping',
  'roots/list',
  'elicitation/create',
  'made/up',
);
const params = fc.record(
  {
    progressToken: loose,
    requestId: loose,
    _meta: fc.oneof(fc.constant(null), fc.record({ 'io.modelcontextprotocol/subscriptionId': loose })),
  },
  { requiredKeys: [] },
);
const message = fc.record({ jsonrpc: fc.constant('2.0'), id, method, params }, { requiredKeys: ['jsonrpc', 'method'] });

const step = fc.oneof(
  fc.record({ act: fc.constant('stray' as const), message }),
  fc.record({ act: fc.constant('stream' as const), of: fc.nat(2), message }),
  fc.record({ act: fc.constant('answer' as const), of: fc.nat(2), result: fc.constantFrom({}, { resultType: 1 }) }),
  fc.record({ act: fc.constant('error' as const), of: fc.nat(2), code: fc.constantFrom(-32601, -32022, -32000) }),
  fc.record({ act: fc.constant('cancel' as const), of: fc.nat(2) }),
  fc.record({ act: fc.constant('reply' as const) }),
  fc.record({ act: fc.constant('wait' as const), ms: fc.nat(100_000) }),
  fc.record({ act: fc.constant('lose' as const) }),
);

const texts = [
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}',
];

interface World {
  readonly lane: UpstreamSession;
  readonly channel: ScriptedChannel;
  readonly clock: ManualClock;
  readonly notes: OddNotes;
  readonly sink: LaneRecorder;
}

async function modern(streams: boolean): Promise<World> {
  const clock = new ManualClock();
  const channel = new ScriptedChannel(streams);
  const notes = new OddNotes();
  const lane = new ModernUpstreamSession({
    channel,
    ids: new Ids(),
    discovery: {
      eras: ['modern'],
      revision: '2026-07-28',
      capabilities: {},
      serverInfo: undefined,
      instructions: undefined,
      rest: {},
    },
    deadlines: new Deadlines(limits, clock),
    notes,
    health: untroubled,
    doubt: () => undefined,
  });
  channel.attach(lane);
  return { lane, channel, clock, notes, sink: new LaneRecorder() };
}

async function legacy(streams: boolean): Promise<World> {
  const clock = new ManualClock();
  const channel = new ScriptedChannel(streams);
  const notes = new OddNotes();
  const sink = new LaneRecorder();
  channel.onRequest = (asked) => {
    if (asked.json.method === 'initialize') asked.result({ protocolVersion: '2025-11-25' });
  };
  const line = await openProbedChannel(async (channelSink) => channel.attach(channelSink));
  const relay = new ListRelay(clock, limits.changesMs);
  const options = { clock, limits, notes, self: '{}', health: untroubled, relay, ended: () => undefined };
  const lane = await LegacyUpstreamSession.open(line, client('2026-07-28'), sink, options);
  channel.asked.length = 0;
  return { lane, channel, clock, notes, sink };
}

const worlds = [
  { name: 'modern, a stream per request', make: () => modern(true) },
  { name: 'modern, one pipe', make: () => modern(false) },
  { name: 'legacy, a stream per request', make: () => legacy(true) },
  { name: 'legacy, one pipe', make: () => legacy(false) },
];

describe('whatever a backend does', () => {
  test.each(worlds)('a call ends once or was cancelled, and nothing is thrown: $name', async ({ make }) => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { lane, channel, clock, notes, sink } = await make();
      const sinks = texts.map(() => new CallRecorder());
      const calls = texts.map((text, at) =>
        lane.call(permit, callOf(text, { progress: true, logLevel: 'info' }), sinks[at] as CallRecorder),
      );
      const cancelled = new Set<number>();
      for (const one of steps) {
        if (one.act === 'stray') channel.say(one.message);
        else if (one.act === 'stream') channel.asked[one.of]?.say(one.message);
        else if (one.act === 'answer') channel.asked[one.of]?.result(one.result);
        else if (one.act === 'error') channel.asked[one.of]?.error(one.code);
        else if (one.act === 'wait') clock.advance(one.ms);
        else if (one.act === 'lose') channel.lose();
        else if (one.act === 'reply') {
          for (const ask of [...sinks.flatMap(({ asks }) => asks), ...sink.asks]) ask.answer({ result: '{}' });
        } else if ((sinks[one.of] as CallRecorder).outcomes.length === 0) {
          cancelled.add(one.of);
          calls[one.of]?.cancel();
        }
      }
      for (const asked of channel.asked) asked.fail(new Failure('backend_unavailable'));
      await settleDown();
      expect(sinks.map(({ outcomes }) => outcomes.length)).toEqual(texts.map((_, at) => (cancelled.has(at) ? 0 : 1)));
      expect(notes.odds).not.toContain('fault');
    });
    await fc.assert(property, { seed, numRuns: 150 });
  });
});
