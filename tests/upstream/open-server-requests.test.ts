import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { ServerRequestReply } from '../../src/exchange/call.ts';
import { LegacyUpstreamSession } from '../../src/upstream/legacy.ts';
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
  told,
  toolCall,
  untroubled,
} from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { ScriptedChannel } from './support/scripted-channel.ts';

async function opened({ streams }: { streams: boolean }) {
  const clock = new ManualClock();
  const channel = new ScriptedChannel(streams);
  const notes = new OddNotes();
  const sink = new LaneRecorder();
  channel.onRequest = (asked) => {
    if (asked.json.method === 'initialize') asked.result({ protocolVersion: '2025-11-25', capabilities: {} });
  };
  const line = await openProbedChannel(async (channelSink) => channel.attach(channelSink));
  const lane = await LegacyUpstreamSession.open(line, client('2025-11-25'), sink, {
    clock,
    limits,
    notes,
    self: '{}',
    health: untroubled,
    relay: new ListRelay(clock, limits.changesMs),
    ended: () => undefined,
  });
  lane.notify(permit, told('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
  await settleDown();
  channel.posts.length = 0;
  const start = (text = toolCall) => {
    const call = new CallRecorder();
    return { sink: call, call: lane.call(permit, callOf(text), call), asked: channel.last };
  };
  return { channel, lane, notes, sink, start };
}

const ask = (id: unknown, method = 'elicitation/create') => ({ jsonrpc: '2.0', id, method, params: { message: '?' } });
const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

describe('a server request goes to', () => {
  test('the call on whose stream it came', async () => {
    const { start, sink } = await opened({ streams: true });
    const [first, second] = [start(), start()];
    second.asked.say(ask(0));
    expect([first.sink.asks.length, second.sink.asks.length, sink.asks.length]).toEqual([0, 1, 0]);
    expect(second.sink.asks[0]?.row.method).toBe('elicitation/create');
  });

  test.each([{ streams: true }, { streams: false }])(
    'the one call that may have caused it ($streams)',
    async ({ streams }) => {
      const { channel, start, sink } = await opened({ streams });
      const [other, only] = [start(list), start()];
      channel.say(ask('q'));
      expect([other.sink.asks.length, only.sink.asks.length, sink.asks.length]).toEqual([0, 1, 0]);
    },
  );

  test('the upstream session if no call, or more than one, may own it', async () => {
    const { channel, start, sink } = await opened({ streams: false });
    channel.say(ask(1));
    start();
    start();
    channel.say(ask(2, 'roots/list'));
    expect(sink.asks.map(({ message }) => message.id.raw)).toEqual(['1', '2']);
  });
});

describe('its answer', () => {
  const replies: readonly { name: string; method?: string; reply: ServerRequestReply; expect: unknown }[] = [
    { name: 'a result, byte for byte', reply: { result: '{"n":1.0}' }, expect: { result: { n: 1 } } },
    {
      name: 'an error, as the client gave it',
      reply: { error: '{"code":-1,"message":"no","data":{}}' },
      expect: { error: { code: -1, message: 'no', data: {} } },
    },
    ...(
      [
        ['elicitation/create', -32602],
        ['roots/list', -32601],
        ['sampling/createMessage', -32600],
      ] as const
    ).map(([method, code]) => ({
      name: `${method} that the client has no capability for`,
      method,
      reply: { failure: new Failure('ask_not_supported', { data: { requiredCapabilities: {} } }) },
      expect: {
        error: {
          code,
          message: 'The client cannot answer this',
          data: { requiredCapabilities: {}, reason: 'ask_not_supported' },
        },
      },
    })),
    {
      name: 'no answer in time',
      reply: { failure: new Failure('ask_timeout') },
      expect: {
        error: { code: -32603, message: 'The client did not answer in time', data: { reason: 'ask_timeout' } },
      },
    },
    {
      name: 'an internal error, whose text is not sent',
      reply: { failure: new Failure('internal_error', { message: 'secret' }) },
      expect: { error: { code: -32603, message: 'Internal error', data: { reason: 'internal_error' } } },
    },
  ];
  test.each(replies)('$name', async ({ method, reply, expect: wanted }) => {
    const { channel, start } = await opened({ streams: true });
    const { asked, sink } = start();
    asked.say(ask('the id', method));
    sink.asks[0]?.answer(reply);
    expect(channel.posted()).toEqual([{ jsonrpc: '2.0', id: 'the id', ...(wanted as object) }]);
  });

  test('goes under the backend’s id as it spelled it, once', async () => {
    const { channel, start } = await opened({ streams: true });
    const { asked, sink } = start();
    asked.say(ask('0'));
    asked.say(ask(0));
    sink.asks[1]?.answer({ result: '{"b": 1.0}' });
    sink.asks[1]?.answer({ result: '{}' });
    sink.asks[0]?.answer({ result: '{}' });
    expect(channel.posts.map(({ text }) => text)).toEqual([
      '{"jsonrpc":"2.0","id":0,"result":{"b": 1.0}}',
      '{"jsonrpc":"2.0","id":"0","result":{}}',
    ]);
  });

  test('is given for a listener that fails', async () => {
    const { channel, start, notes } = await opened({ streams: true });
    const { asked, sink } = start();
    sink.ask = () => {
      throw new Error('oops');
    };
    asked.say(ask(1));
    expect(channel.posted()).toMatchObject([{ id: 1, error: { code: -32603, message: 'Internal error' } }]);
    expect(notes.odds).toEqual(['fault']);
    expect(sink.ends).toEqual([]);
  });
});

describe('too many, or the same one twice', () => {
  test('beyond the limit the backend gets an error', async () => {
    const { channel, start } = await opened({ streams: true });
    const { asked, sink } = start();
    for (const id of [1, 2, 3, 4]) asked.say(ask(id));
    expect(sink.asks).toHaveLength(limits.asksPerSession);
    expect(channel.posted()).toMatchObject([{ id: 4, error: { code: -32603, data: { reason: 'too_many_asks' } } }]);
    sink.asks[0]?.answer({ result: '{}' });
    asked.say(ask(5));
    expect(sink.asks).toHaveLength(limits.asksPerSession + 1);
  });

  test('a second one under an open id is ignored', async () => {
    const { channel, start, notes } = await opened({ streams: true });
    const { asked, sink } = start();
    asked.say(ask(1));
    asked.say(ask(1));
    expect(sink.asks).toHaveLength(1);
    expect(channel.posts).toEqual([]);
    expect(notes.odds).toEqual(['duplicate_ask']);
  });
});

describe('it is cancelled', () => {
  const cancelled = (requestId: unknown) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId },
  });

  test('by the backend, on any stream; then no answer is sent', async () => {
    const { channel, start } = await opened({ streams: true });
    const { asked, sink } = start();
    asked.say(ask(1));
    asked.say(ask('1'));
    asked.say(cancelled(7));
    channel.say(cancelled(1));
    expect(sink.withdrawn).toEqual(['1']);
    sink.asks[0]?.answer({ result: '{}' });
    expect(channel.posts).toEqual([]);
    asked.say(cancelled('1'));
    expect(sink.withdrawn).toEqual(['1', '"1"']);
    let late = false;
    sink.asks[0]?.onWithdrawn(() => {
      late = true;
    });
    expect(late).toBe(true);
    expect(sink.notes).toEqual([]);
  });

  test('when its call ends; if the backend still waits, it gets the reason', async () => {
    const { channel, start } = await opened({ streams: true });
    const { asked, sink } = start();
    asked.say(ask(1));
    asked.result({});
    expect(sink.withdrawn).toEqual(['1']);
    expect(channel.posted()).toMatchObject([{ id: 1, error: { code: -32603, data: { reason: 'ask_failed' } } }]);
  });

  test('when its call is cancelled, after the cancellation', async () => {
    const { channel, start } = await opened({ streams: false });
    const { call, sink } = start();
    channel.say(ask(1));
    call.cancel();
    expect(sink.withdrawn).toEqual(['1']);
    expect(channel.posted()).toMatchObject([{ method: 'notifications/cancelled' }, { id: 1, error: {} }]);
  });

  test('and sent to the upstream session, if its call was only a guess and is complete without it', async () => {
    const { channel, start, sink: laneSink } = await opened({ streams: false });
    const { asked, sink } = start();
    channel.say(ask(1, 'roots/list'));
    asked.result({});
    expect(sink.withdrawn).toEqual(['1']);
    expect(laneSink.asks).toHaveLength(1);
    sink.asks[0]?.answer({ result: '{"roots":[1]}' });
    laneSink.asks[0]?.answer({ result: '{"roots":[]}' });
    expect(channel.posted()).toEqual([{ jsonrpc: '2.0', id: 1, result: { roots: [] } }]);
  });
});
