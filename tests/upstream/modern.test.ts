import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { Discovery } from '../../src/exchange/upstream-session.ts';
import { Deadlines } from '../../src/upstream/deadlines.ts';
import { ModernUpstreamSession } from '../../src/upstream/modern.ts';
import { CallRecorder, callOf, limits, OddNotes, permit, settleDown, toolCall, untroubled } from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { CountedIds } from './support/counted-ids.ts';
import { ScriptedChannel } from './support/scripted-channel.ts';

const discovery: Discovery = {
  eras: ['modern'],
  revision: '2026-07-28',
  capabilities: {},
  serverInfo: undefined,
  instructions: undefined,
  rest: {},
};

function setUp({ streams }: { streams: boolean }) {
  const clock = new ManualClock();
  const channel = new ScriptedChannel(streams);
  const notes = new OddNotes();
  const doubts: string[] = [];
  const lane = new ModernUpstreamSession({
    channel,
    ids: new CountedIds(),
    discovery,
    deadlines: new Deadlines(limits, clock),
    notes,
    health: untroubled,
    doubt: () => doubts.push('doubt'),
  });
  channel.attach(lane);
  return { clock, channel, notes, doubts, lane };
}

const listen = '{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{}}}';
const key = 'io.modelcontextprotocol/subscriptionId';
const note = (method: string, params: unknown) => ({ jsonrpc: '2.0', method, params });

describe('a call to a modern backend', () => {
  test('has an id of its own, and mirrored headers under the names of the request', () => {
    const { channel, lane } = setUp({ streams: true });
    lane.call(permit, callOf(toolCall, { paramHeaders: { 'mcp-param-region': 'eu' } }), new CallRecorder());
    lane.call(
      permit,
      callOf('{"jsonrpc":"2.0","id":0,"method":"resources/read","params":{"uri":"file:///é"}}'),
      new CallRecorder(),
    );
    lane.call(permit, callOf('{"jsonrpc":"2.0","id":0,"method":"tools/list"}'), new CallRecorder());
    expect(channel.asked.map(({ json, key: id }) => [json.id, id])).toEqual([
      ['1', 's1'],
      ['2', 's2'],
      ['3', 's3'],
    ]);
    expect(channel.asked.map(({ headers }) => headers)).toEqual([
      {
        'mcp-param-region': 'eu',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 't',
      },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'resources/read',
        'mcp-name': '=?base64?ZmlsZTovLy/DqQ==?=',
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    ]);
  });

  const answers: readonly {
    name: string;
    result?: unknown;
    code?: number;
    status?: number;
    expect: string;
    doubts: boolean;
  }[] = [
    { name: 'complete', result: { resultType: 'complete' }, expect: 'result modern', doubts: false },
    { name: 'no result type means complete', result: {}, expect: 'result modern', doubts: false },
    { name: 'input required', result: { resultType: 'input_required' }, expect: 'result modern', doubts: false },
    {
      name: 'an unknown result type',
      result: { resultType: 'task' },
      expect: 'failure backend_invalid',
      doubts: false,
    },
    {
      name: 'a result type that is no text',
      result: { resultType: 1 },
      expect: 'failure backend_invalid',
      doubts: false,
    },
    { name: 'an error of the tool', code: -32602, expect: 'error modern', doubts: false },
    { name: 'invalid params with 400', code: -32602, status: 400, expect: 'error modern', doubts: false },
    { name: 'a header mismatch', code: -32020, status: 400, expect: 'error modern', doubts: false },
    { name: 'a missing capability', code: -32021, status: 400, expect: 'error modern', doubts: false },
    { name: 'the revision is gone', code: -32022, status: 400, expect: 'failure backend_invalid', doubts: true },
    { name: 'the method is gone', code: -32601, status: 404, expect: 'error modern', doubts: true },
    { name: 'a 400 as legacy servers give', code: -32000, status: 400, expect: 'error modern', doubts: true },
  ];
  test.each(answers)('ends with $expect: $name', ({ result, code, status, expect: wanted, doubts: doubted }) => {
    const { channel, lane, doubts } = setUp({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    const http = status === undefined ? undefined : { status, sessionId: undefined };
    if (code === undefined) channel.last.result(result, http);
    else channel.last.error(code, http);
    expect(sink.ends).toEqual([wanted]);
    expect(doubts.length > 0).toBe(doubted);
  });

  const failings = [
    { name: 'the backend is down', failure: new Failure('backend_unavailable'), status: undefined, doubted: true },
    { name: '405 without a message', failure: new Failure('backend_invalid'), status: 405, doubted: true },
    { name: 'an answer that is too large', failure: new Failure('backend_too_large'), status: 200, doubted: false },
  ];
  test.each(failings)('fails as the channel does: $name', ({ failure, status, doubted }) => {
    const { channel, lane, doubts } = setUp({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.last.fail(failure, status === undefined ? undefined : { status, sessionId: undefined });
    expect(sink.ends).toEqual([`failure ${failure.reason}`]);
    expect(doubts.length > 0).toBe(doubted);
  });

  test('gets the notifications of its stream; requests there are forbidden, and ignored', () => {
    const { channel, lane, notes } = setUp({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall, { progress: true }), sink);
    channel.last.say(note('notifications/progress', { progressToken: '1', progress: 1 }));
    channel.last.say({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
    channel.last.result({});
    expect(sink.notes).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1}}',
    ]);
    expect(sink.asks).toEqual([]);
    expect(channel.posts).toEqual([]);
    expect(notes.odds).toEqual(['forbidden_request']);
    expect(sink.ends).toEqual(['result modern']);
  });

  test('cancelled over HTTP: the stream is closed, nothing is posted, nothing is delivered', () => {
    const { channel, lane } = setUp({ streams: true });
    const sink = new CallRecorder();
    const call = lane.call(permit, callOf(toolCall), sink);
    call.cancel('enough');
    call.cancel('enough');
    expect(channel.last.aborted).toBe(true);
    expect(channel.posts).toEqual([]);
    channel.last.sink.failed(new Failure('backend_unavailable'), undefined);
    expect(sink.ends).toEqual([]);
  });

  test('cancelled over stdio: the backend is notified, with its own id', () => {
    const { channel, lane } = setUp({ streams: false });
    lane.call(permit, callOf(toolCall), new CallRecorder());
    lane.call(permit, callOf(toolCall), new CallRecorder()).cancel('enough "now"');
    expect(channel.posted()).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: '2', reason: 'enough "now"' } },
    ]);
  });

  test('times out: the backend is cancelled, and the caller gets the limit', () => {
    const { channel, clock, lane } = setUp({ streams: false });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    clock.advance(limits.firstByteMs + 1000);
    expect(sink.ends).toEqual(['failure backend_timeout']);
    expect(sink.outcomes[0]?.kind === 'failure' && sink.outcomes[0].failure.data).toEqual({ limit: 'firstByteMs' });
    expect(channel.last.aborted).toBe(true);
    expect(channel.posted()).toHaveLength(1);
    expect(clock.pending).toEqual([]);
  });

  test('an error in the listener ends the call as internal error, and stops the backend', () => {
    const { channel, lane, notes } = setUp({ streams: true });
    const sink = new CallRecorder();
    sink.notify = () => {
      throw new Error('oops');
    };
    lane.call(permit, callOf(toolCall), sink);
    channel.last.say(note('notifications/progress', { progressToken: '1', progress: 1 }));
    expect(sink.ends).toEqual(['failure internal_error']);
    expect(channel.last.aborted).toBe(true);
    expect(notes.odds).toEqual(['fault']);
  });

  test('an answer that comes before the caller has its call waits for that', async () => {
    const { channel, lane } = setUp({ streams: true });
    const sink = new CallRecorder();
    channel.request = (_outgoing, request) => {
      request.failed(new Failure('backend_unavailable'), undefined);
      return { abort: () => undefined };
    };
    lane.call(permit, callOf(toolCall), sink);
    expect(sink.ends).toEqual([]);
    await settleDown();
    expect(sink.ends).toEqual(['failure backend_unavailable']);
  });

  test('after the end of the upstream session every call fails, and none is sent', async () => {
    const { channel, lane } = setUp({ streams: true });
    const before = new CallRecorder();
    const after = new CallRecorder();
    const cancelled = new CallRecorder();
    lane.call(permit, callOf(toolCall), before);
    lane.shut(new Failure('shutting_down'));
    lane.call(permit, callOf(toolCall), after);
    lane.call(permit, callOf(toolCall), cancelled).cancel();
    await settleDown();
    expect([before.ends, after.ends, cancelled.ends]).toEqual([
      ['failure shutting_down'],
      ['failure shutting_down'],
      [],
    ]);
    expect(channel.asked).toHaveLength(1);
  });

  test('closing the upstream session ends nothing: it is shared', () => {
    const { channel, lane } = setUp({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    lane.close();
    channel.last.result({});
    expect(sink.ends).toEqual(['result modern']);
  });
});

describe('on one pipe for all calls', () => {
  test('progress goes to the call whose token it carries, if it requested any', () => {
    const { channel, lane, notes } = setUp({ streams: false });
    const [first, second, third] = [new CallRecorder(), new CallRecorder(), new CallRecorder()];
    lane.call(permit, callOf(toolCall, { progress: true }), first);
    lane.call(permit, callOf(toolCall, { progress: true }), second);
    lane.call(permit, callOf(toolCall), third);
    for (const progressToken of ['2', 2, '3', '4', null]) {
      channel.say(note('notifications/progress', { progressToken, progress: 1 }));
    }
    expect([first.notes.length, second.notes.length, third.notes.length]).toEqual([0, 1, 0]);
    expect(notes.odds).toEqual(['unattributed', 'unattributed', 'unattributed', 'unattributed']);
  });

  test('log messages go to the one call that wants them, and to none if two do', () => {
    const { channel, lane } = setUp({ streams: false });
    const [quiet, chatty, other] = [new CallRecorder(), new CallRecorder(), new CallRecorder()];
    const log = note('notifications/message', { level: 'info', data: 'x' });
    channel.say(log);
    lane.call(permit, callOf(toolCall), quiet);
    lane.call(permit, callOf(toolCall, { logLevel: 'info' }), chatty);
    channel.say(log);
    lane.call(permit, callOf(toolCall, { logLevel: 'debug' }), other);
    channel.say(log);
    expect([quiet.notes.length, chatty.notes.length, other.notes.length]).toEqual([0, 1, 0]);
  });

  test('a message with a subscription id goes to that subscription alone', () => {
    const { channel, lane } = setUp({ streams: false });
    const [tool, first, second] = [new CallRecorder(), new CallRecorder(), new CallRecorder()];
    lane.call(permit, callOf(toolCall, { progress: true, logLevel: 'debug' }), tool);
    lane.call(permit, callOf(listen), first);
    lane.call(permit, callOf(listen), second);
    channel.say(note('notifications/subscriptions/acknowledged', { _meta: { [key]: '3' }, notifications: {} }));
    channel.say(note('notifications/tools/list_changed', { _meta: { [key]: '3' } }));
    channel.say(note('notifications/tools/list_changed', { _meta: { [key]: '1' } }));
    channel.say(note('notifications/tools/list_changed', {}));
    expect([tool.notes.length, first.notes.length]).toEqual([0, 0]);
    expect(second.notes.map((text) => JSON.parse(text).method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ]);
  });

  test('requests of the backend are forbidden, and ignored', () => {
    const { channel, notes } = setUp({ streams: false });
    channel.say({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} });
    expect(notes.odds).toEqual(['forbidden_request']);
    expect(channel.posts).toEqual([]);
  });
});

describe('a subscription', () => {
  test('has no timeout once it was acknowledged', () => {
    const { channel, clock, lane } = setUp({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(listen), sink);
    channel.last.say(note('notifications/subscriptions/acknowledged', { _meta: { [key]: '1' }, notifications: {} }));
    clock.advance(100 * limits.totalMs);
    expect(sink.ends).toEqual([]);
    expect(sink.notes).toHaveLength(1);
  });

  test('is given up if it is not acknowledged', () => {
    const { clock, lane } = setUp({ streams: true });
    const sink = new CallRecorder();
    lane.call(permit, callOf(listen), sink);
    clock.advance(limits.firstByteMs + 1000);
    expect(sink.ends).toEqual(['failure backend_timeout']);
  });

  const teardown = note('notifications/cancelled', { requestId: '1' });
  test('torn down in order ends with its result', () => {
    const { channel, lane } = setUp({ streams: false });
    const sink = new CallRecorder();
    lane.call(permit, callOf(listen), sink);
    channel.say(note('notifications/subscriptions/acknowledged', { _meta: { [key]: '1' }, notifications: {} }));
    channel.say(teardown);
    expect(sink.ends).toEqual([]);
    channel.last.result({ resultType: 'complete', _meta: { [key]: '1' } });
    expect(sink.ends).toEqual(['result modern']);
    expect(sink.notes).toHaveLength(1);
  });

  test.each([{ streams: true }, { streams: false }])(
    'torn down without a result fails after a while',
    ({ streams }) => {
      const { channel, clock, lane } = setUp({ streams });
      const sink = new CallRecorder();
      lane.call(permit, callOf(listen), sink);
      if (streams) channel.last.say(teardown);
      else channel.say(teardown);
      clock.advance(10_000);
      expect(sink.ends).toEqual(['failure backend_unavailable']);
    },
  );

  test('a cancellation that names anything else is ignored', () => {
    const { channel, clock, lane } = setUp({ streams: false });
    const sink = new CallRecorder();
    lane.call(permit, callOf(toolCall), sink);
    channel.say(teardown);
    clock.advance(10_000);
    expect(sink.ends).toEqual([]);
  });
});
