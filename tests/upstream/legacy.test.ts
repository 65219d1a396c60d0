import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { ClientFacts } from '../../src/exchange/call.ts';
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
import { CountedIds } from './support/counted-ids.ts';
import { type Asked, ScriptedChannel } from './support/scripted-channel.ts';

const self = '{"name":"bascule","version":"1"}';
const initialized = told('{ "jsonrpc":"2.0","method":"notifications/initialized" }');

interface Setting {
  readonly streams: boolean;
  readonly facts?: ClientFacts;
  readonly sessionId?: string;
  readonly version?: string;
  /** Instead of agreeing. */
  readonly onInitialize?: (asked: Asked) => void;
}

async function setUp({ streams, facts = client('2025-11-25'), sessionId, version, onInitialize }: Setting) {
  const clock = new ManualClock();
  const channel = new ScriptedChannel(streams);
  const notes = new OddNotes();
  const sink = new LaneRecorder();
  const ended: LegacyUpstreamSession[] = [];
  channel.onRequest = (asked) => {
    if (asked.json.method !== 'initialize') return;
    if (onInitialize !== undefined) onInitialize(asked);
    else {
      const protocolVersion = version ?? asked.json.params.protocolVersion;
      const http = streams ? { status: 200, sessionId } : undefined;
      asked.result({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's' }, x: 1 }, http);
    }
  };
  const line = {
    ...(await openProbedChannel(async (channelSink) => channel.attach(channelSink))),
    ids: new CountedIds(),
  };
  const opening = LegacyUpstreamSession.open(line, facts, sink, {
    clock,
    limits,
    notes,
    self,
    health: untroubled,
    relay: new ListRelay(clock, limits.changesMs),
    ended: (lane) => ended.push(lane),
  });
  return { clock, channel, notes, sink, ended, opening };
}

/** The backend has agreed, and the client has said nothing yet. */
async function agreed(setting: Setting) {
  const parts = await setUp(setting);
  return { ...parts, lane: await parts.opening };
}

/** `initialized` is said and done. */
async function opened(setting: Setting) {
  const parts = await agreed(setting);
  parts.lane.notify(permit, initialized);
  await settleDown();
  parts.channel.posts.length = 0;
  parts.channel.listens.length = 0;
  return parts;
}

const ask = (id: unknown, method = 'elicitation/create') => ({ jsonrpc: '2.0', id, method, params: { message: '?' } });

describe('initialize', () => {
  test('introduces a legacy client with its own revision, name and capabilities', async () => {
    const facts = client('2025-06-18', { tasks: {}, elicitation: {}, roots: { listChanged: true } }, '{"name":"c"}');
    const { channel, lane } = await opened({ streams: true, facts });
    expect(channel.asked[0]?.text).toBe(
      '{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"c"}}}',
    );
    expect(channel.asked[0]?.headers).toEqual({});
    expect(lane.discovery).toEqual({
      eras: ['legacy'],
      revision: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 's' },
      instructions: undefined,
      rest: { x: 1 },
    });
  });

  test('introduces a modern client in the newest legacy revision, under our name if it has none', async () => {
    const { channel } = await opened({ streams: true, facts: client('2026-07-28') });
    expect(channel.asked[0]?.json.params).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bascule', version: '1' },
    });
  });

  const headers = [
    { version: '2025-11-25', sessionId: 'S', expect: { 'mcp-session-id': 'S', 'mcp-protocol-version': '2025-11-25' } },
    { version: '2025-06-18', sessionId: undefined, expect: { 'mcp-protocol-version': '2025-06-18' } },
    { version: '2025-03-26', sessionId: 'S', expect: { 'mcp-session-id': 'S' } },
    { version: '2024-11-05', sessionId: undefined, expect: {} },
  ];
  test.each(headers)('later requests in $version carry its headers', async ({ version, sessionId, expect: wanted }) => {
    const { channel, lane } = await agreed({
      streams: true,
      version,
      ...(sessionId === undefined ? {} : { sessionId }),
    });
    lane.notify(permit, initialized);
    lane.call(permit, callOf(toolCall), new CallRecorder());
    await channel.until(() => channel.listens.length > 0 && channel.asked.length > 1);
    expect([channel.last.headers, channel.posts[0]?.headers, channel.listens[0]]).toEqual([wanted, wanted, wanted]);
  });

  const failures: readonly { name: string; answer: (asked: Asked) => void; expect: string }[] = [
    { name: 'an error', answer: (asked) => asked.error(-32602), expect: 'backend_invalid' },
    {
      name: 'a modern revision',
      answer: (asked) => asked.result({ protocolVersion: '2026-07-28' }),
      expect: 'backend_invalid',
    },
    { name: 'no revision', answer: (asked) => asked.result({}), expect: 'backend_invalid' },
    {
      name: 'a session id that no header can carry',
      answer: (asked) => asked.result({ protocolVersion: '2025-11-25' }, { status: 200, sessionId: 'a b' }),
      expect: 'backend_invalid',
    },
    {
      name: 'an outage',
      answer: (asked) => asked.fail(new Failure('backend_unavailable')),
      expect: 'backend_unavailable',
    },
  ];
  test.each(failures)('fails with $expect after $name, and leaves nothing open', async ({ answer, expect: reason }) => {
    const { channel, opening, sink, ended, clock } = await setUp({ streams: true, onInitialize: answer });
    await expect(opening).rejects.toMatchObject({ reason });
    await settleDown();
    expect(channel.closed).toBe(true);
    expect(sink.losses).toEqual([]);
    expect(ended).toHaveLength(1);
    expect(clock.pending).toEqual([]);
  });

  test('times out, and is never cancelled', async () => {
    const { channel, clock, opening } = await setUp({ streams: false, onInitialize: () => undefined });
    await channel.until(() => channel.asked.length > 0);
    clock.advance(limits.firstByteMs);
    await expect(opening).rejects.toMatchObject({ reason: 'backend_timeout' });
    expect(channel.posts).toEqual([]);
    expect(channel.closed).toBe(true);
  });

  test('fails where the process ends meanwhile', async () => {
    const { channel, opening, sink } = await setUp({ streams: false, onInitialize: () => undefined });
    await channel.until(() => channel.asked.length > 0);
    channel.lose();
    await expect(opening).rejects.toMatchObject({ reason: 'backend_unavailable' });
    expect(sink.losses).toEqual([]);
  });

  test('a ping meanwhile is answered', async () => {
    const { channel, opening } = await setUp({
      streams: true,
      onInitialize: (asked) => {
        asked.say({ jsonrpc: '2.0', id: 'p', method: 'ping' });
        asked.result({ protocolVersion: '2025-11-25' });
      },
    });
    await opening;
    expect(channel.posted()).toEqual([{ jsonrpc: '2.0', id: 'p', result: {} }]);
  });
});

describe('initialized', () => {
  test('is sent at once for a modern client, and the stream is opened after it', async () => {
    const { channel } = await agreed({ streams: true, facts: client('2026-07-28'), sessionId: 'S' });
    expect(channel.posted()).toEqual([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
    await channel.until(() => channel.listens.length > 0);
    expect(channel.listens).toHaveLength(1);
  });

  test('waits for that of the client otherwise, and is sent once', async () => {
    const { channel, lane } = await agreed({ streams: true });
    expect(channel.posts).toEqual([]);
    lane.notify(permit, initialized);
    lane.notify(permit, initialized);
    await channel.until(() => channel.listens.length > 0);
    expect(channel.posts.map(({ text }) => text)).toEqual(['{"jsonrpc":"2.0","method":"notifications/initialized"}']);
  });

  test('that the backend does not take opens no stream', async () => {
    const { channel, lane, notes } = await agreed({ streams: true });
    channel.refusePosts = new Failure('backend_invalid');
    lane.notify(permit, initialized);
    await settleDown();
    expect(channel.listens).toEqual([]);
    expect(notes.odds).toEqual(['not_taken']);
  });

  test('is in the backend’s hands before any request is sent', async () => {
    const { channel, lane } = await agreed({ streams: true });
    const taken = channel.holdPosts();
    lane.notify(permit, initialized);
    lane.call(permit, callOf(toolCall), new CallRecorder());
    await settleDown();
    expect(channel.asked.map(({ json }) => json.method)).toEqual(['initialize']);
    taken();
    await settleDown();
    expect(channel.asked.map(({ json }) => json.method)).toEqual(['initialize', 'tools/call']);
  });

  test('is sent for a client that forgets it, and then not again', async () => {
    const { channel, lane } = await agreed({ streams: true });
    lane.call(permit, callOf(toolCall), new CallRecorder());
    await settleDown();
    lane.notify(permit, initialized);
    await settleDown();
    expect(channel.posted()).toEqual([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
    expect(channel.last.json.method).toBe('tools/call');
  });

  test('delays no cancellation: a cancelled call is never sent', async () => {
    const { channel, lane } = await agreed({ streams: true });
    const taken = channel.holdPosts();
    const call = lane.call(permit, callOf(toolCall), new CallRecorder());
    call.cancel();
    taken();
    await settleDown();
    expect(channel.asked.map(({ json }) => json.method)).toEqual(['initialize']);
    expect(channel.posted()).toEqual([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
  });
});

describe('notifications of the client', () => {
  test('pass, except for cancellations, whose ids are not those of the backend', async () => {
    const { channel, lane } = await opened({ streams: true });
    lane.notify(permit, told('{"jsonrpc":"2.0","method":"notifications/roots/list_changed" }'));
    lane.notify(permit, told('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'));
    expect(channel.posts.map(({ text }) => text)).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
    ]);
  });
});

describe('a call', () => {
  test('ends with the result or the error of the backend', async () => {
    const { channel, lane } = await opened({ streams: true });
    const [good, bad] = [new CallRecorder(), new CallRecorder()];
    lane.call(permit, callOf(toolCall), good);
    channel.last.result({ content: [] });
    lane.call(permit, callOf(toolCall), bad);
    channel.last.error(-32602, { status: 400, sessionId: undefined });
    expect([good.ends, bad.ends]).toEqual([['result legacy'], ['error legacy']]);
  });

  test('gets the messages of its stream', async () => {
    const { channel, lane, sink: laneSink } = await opened({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
    channel.last.sink.paused(500);
    expect(sink.notes).toHaveLength(1);
    expect(sink.pauses).toEqual([500]);
    expect(laneSink.notes).toEqual([]);
  });

  test('cancelled: the backend is notified with its own id, and the stream is closed', async () => {
    const { channel, lane } = await opened({ streams: true, sessionId: 'S' });
    const sink = new CallRecorder();
    const call = lane.call(permit, callOf(toolCall), sink);
    call.cancel();
    expect(channel.posted()).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: '2' } },
    ]);
    expect(channel.last.aborted).toBe(true);
    expect(sink.ends).toEqual([]);
  });

  test('that gets no message for too long is cancelled, and fails', async () => {
    const { channel, clock, lane } = await opened({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall, { progress: true }), sink);
    clock.advance(limits.firstByteMs - 1000);
    channel.last.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: '2', progress: 1 } });
    clock.advance(limits.idleMs - 1000);
    expect(sink.ends).toEqual([]);
    clock.advance(2000);
    expect(sink.ends).toEqual(['failure backend_timeout']);
    expect(channel.posted()).toHaveLength(1);
  });

  test('that waits for the user does not time out', async () => {
    const { channel, clock, lane } = await opened({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.say(ask(1));
    clock.advance(limits.totalMs - 1000);
    expect(sink.ends).toEqual([]);
    sink.asks[0]?.answer({ result: '{}' });
    clock.advance(limits.idleMs - 1000);
    expect(sink.ends).toEqual([]);
    clock.advance(2000);
    expect(sink.ends).toEqual(['failure backend_timeout']);
  });
});

describe('a lost session', () => {
  const gone = { status: 404, sessionId: undefined };
  const ways: readonly { name: string; lose: (asked: Asked) => void }[] = [
    { name: '404 with a message', lose: (asked) => asked.error(-32001, gone) },
    { name: '404 without', lose: (asked) => asked.fail(new Failure('backend_invalid'), gone) },
    { name: 'the channel’s word', lose: (asked) => asked.fail(new Failure('backend_session_lost')) },
  ];
  test.each(ways)('ends every call in flight, then the upstream session: $name', async ({ lose }) => {
    const { channel, lane, sink: laneSink, ended } = await opened({ streams: true, sessionId: 'S' });
    const [first, second] = [new CallRecorder(), new CallRecorder()];
    lane.call(permit, callOf(toolCall), first);
    lane.call(permit, callOf(toolCall), second);
    lose(channel.last);
    await settleDown();
    expect([first.ends, second.ends]).toEqual([['failure backend_session_lost'], ['failure backend_session_lost']]);
    expect(laneSink.losses.map(({ reason }) => reason)).toEqual(['backend_session_lost']);
    // The session is gone: there is nothing to cancel in it, and nothing to end.
    expect([channel.posts, channel.forgotten, channel.closed]).toEqual([[], [], true]);
    expect(ended).toEqual([lane]);
    const late = new CallRecorder();
    lane.call(permit, callOf(toolCall), late);
    await settleDown();
    expect(late.ends).toEqual(['failure backend_session_lost']);
  });

  test('is noticed by a notification that is refused', async () => {
    const { channel, lane, sink } = await agreed({ streams: true, sessionId: 'S' });
    channel.refusePosts = new Failure('backend_session_lost');
    lane.notify(permit, initialized);
    await settleDown();
    expect(sink.losses).toHaveLength(1);
  });

  test('may be that of a channel which is a session by itself: a request that got 404 was not processed', async () => {
    const { channel, lane, sink: laneSink } = await opened({ streams: false });
    const [first, second] = [new CallRecorder(), new CallRecorder()];
    lane.call(permit, callOf(toolCall), first);
    lane.call(permit, callOf(toolCall), second);
    channel.last.fail(new Failure('backend_session_lost'), gone);
    await settleDown();
    expect([...first.outcomes, ...second.outcomes]).toMatchObject([
      { kind: 'failure', failure: { reason: 'backend_session_lost' } },
      { kind: 'failure', failure: { reason: 'backend_session_lost' }, unseen: true },
    ]);
    expect(first.outcomes[0]).not.toMatchObject({ unseen: true });
    expect(laneSink.losses.map(({ reason }) => reason)).toEqual(['backend_session_lost']);
    expect(channel.closed).toBe(true);
  });

  test('needs a session: without one, 404 is an answer like any other', async () => {
    const { channel, lane, sink: laneSink } = await opened({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.error(-32001, gone);
    await settleDown();
    expect(sink.ends).toEqual(['error legacy']);
    expect(laneSink.losses).toEqual([]);
  });

  test('is not what "method not found" means', async () => {
    const { channel, lane, sink: laneSink } = await opened({ streams: true, sessionId: 'S' });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.error(-32601, gone);
    await settleDown();
    expect(sink.ends).toEqual(['error legacy']);
    expect(laneSink.losses).toEqual([]);
  });

  test('the end of the process is one', async () => {
    const { channel, lane, sink: laneSink } = await opened({ streams: false });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.lose();
    await settleDown();
    expect(sink.ends).toEqual(['failure backend_unavailable']);
    expect(laneSink.losses).toHaveLength(1);
  });
});

describe('closing', () => {
  test('cancels server requests, ends calls, then the session, then the channel', async () => {
    const { channel, lane, sink: laneSink, ended } = await opened({ streams: true, sessionId: 'S' });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.say(ask(1));
    channel.say(ask(2));
    channel.say(ask(3, 'roots/list'));
    lane.close();
    lane.close();
    await settleDown();
    expect(sink.ends).toEqual(['failure session_ended']);
    expect([...sink.withdrawn, ...laneSink.withdrawn].sort()).toEqual(['1', '2', '3']);
    expect(channel.forgotten).toEqual([{ 'mcp-session-id': 'S', 'mcp-protocol-version': '2025-11-25' }]);
    expect(channel.closed).toBe(true);
    expect(laneSink.losses).toEqual([]);
    expect(ended).toEqual([lane]);
    const posts = channel.posts.length;
    lane.notify(permit, initialized);
    sink.asks[0]?.answer({ result: '{}' });
    expect(channel.posts).toHaveLength(posts);
  });
});

describe('a message without a call', () => {
  test('goes to the upstream session, except for progress, which goes to its call or is dropped', async () => {
    const { channel, lane, sink: laneSink, notes } = await opened({ streams: false });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall, { progress: true }), sink);
    for (const method of ['tools/list_changed', 'resources/updated', 'message', 'elicitation/complete', 'made/up']) {
      channel.say({ jsonrpc: '2.0', method: `notifications/${method}` });
    }
    channel.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: '2', progress: 1 } });
    channel.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: '9', progress: 1 } });
    expect(laneSink.notes).toEqual([
      'notifications/tools/list_changed',
      'notifications/resources/updated',
      'notifications/message',
      'notifications/elicitation/complete',
      'notifications/made/up',
    ]);
    expect(sink.notes).toHaveLength(1);
    expect(notes.odds).toEqual(['unattributed']);
  });

  test('a ping is answered, an unknown request is refused', async () => {
    const { channel } = await opened({ streams: false });
    channel.say({ jsonrpc: '2.0', id: 0, method: 'ping' });
    channel.say({ jsonrpc: '2.0', id: 'x', method: 'tasks/get', params: {} });
    expect(channel.posted()).toEqual([
      { jsonrpc: '2.0', id: 0, result: {} },
      { jsonrpc: '2.0', id: 'x', error: { code: -32601, message: 'Method not found' } },
    ]);
  });

  test('a fault in the listener is survived', async () => {
    const { channel, lane, notes, sink } = await opened({ streams: false });
    sink.notify = () => {
      throw new Error('oops');
    };
    channel.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(notes.odds).toEqual(['fault']);
    const call = new CallRecorder();
    lane.call(permit, callOf(toolCall), call);
    channel.last.result({});
    expect(call.ends).toEqual(['result legacy']);
  });
});
