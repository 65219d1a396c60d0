/** JSON or a stream: what decides, and how streams are kept alive on their way. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { request, text } from '../harness/behind.ts';
import { type Begun, begin, type OpenAnswer, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras, type LegacyClient, modern } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';
import { withHeaders } from '../modern/setup.ts';
import { type House, launchHouse, worked } from './house.ts';

/** So long that no machine is too slow for them, and so short that backends may be silent while they pass. */
const HOUR = 3_600_000;
const limits = { sseAfterMs: 20_000, keepAliveMs: 60_000, firstByteMs: HOUR, idleMs: HOUR, initializeMs: HOUR };
/** More than a limit, and less than two of them: waits may last an eighth longer. */
const past = (ms: number): number => ms * 1.25;
const clock = new LeapClock();

/** Calls that the test answers. */
const held: Turn[] = [];
const progress = (turn: Turn, n: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: turn.message.params._meta.progressToken, progress: n },
});

let house: House;
let live: LegacyClient;
beforeAll(async () => {
  house = await launchHouse({
    limits,
    ports: { clock },
    script: {
      'tools/call': (turn) => {
        const { name } = turn.message.params;
        if (name === 'hold') held.push(turn);
        else if (name === 'talk') {
          turn.stream().event(progress(turn, 1)).event(progress(turn, 2));
          turn.event({ jsonrpc: '2.0', id: turn.message.id, result: worked(turn.message) }).end();
        } else turn.result(worked(turn.message));
      },
      'subscriptions/listen': (turn) => {
        const params = { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } };
        turn.stream().event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
      },
    },
  });
});
afterAll(() => house.close());
beforeEach(async () => {
  held.length = 0;
  live ??= (await house.connect('/legacy/mcp')).client;
  house.forget();
});

/** Says to `name` in that era that it should work. */
function begun(era: Era, name: string, accept = 'application/json, text/event-stream'): Begun {
  const params = { name, arguments: { n: 1 } };
  const meta = { progressToken: 'p' };
  if (era === 'modern') {
    const calling = modern({ id: 7, method: 'tools/call', params, meta });
    return begin(house.at('/modern/mcp'), withHeaders(calling, { accept }));
  }
  const body = request(7, 'tools/call', { ...params, _meta: meta });
  return begin(live.url, { body, headers: { ...live.headers, accept } });
}

const done = text('{"n":1}');
const progressed = (n: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 'p', progress: n },
});

async function messagesOf(answer: OpenAnswer): Promise<readonly unknown[]> {
  await answer.ended;
  return answer.events.filter(({ data }) => Boolean(data)).map((event) => event.json());
}

describe.each(eras)('a %s call', (era) => {
  it('that is done at once is answered in JSON', verifies('gateway:http:json-when-quick'), async () => {
    const answer = await begun(era, 'work').answer;
    expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({
      status: 200,
      type: 'application/json',
    });
    await answer.ended;
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text())));
    expect(JSON.parse(answer.text())).toMatchObject({ jsonrpc: '2.0', id: 7, result: done });
  });

  it('that notifies is answered in a stream', verifies('gateway:http:stream-when-talking'), async () => {
    const answer = await begun(era, 'talk').answer;
    expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
    expect(await messagesOf(answer)).toMatchObject([
      progressed(1),
      progressed(2),
      { jsonrpc: '2.0', id: 7, result: done },
    ]);
  });

  it(
    'that notifies is answered in JSON if the client accepts nothing else',
    verifies('gateway:http:stream-when-talking'),
    async () => {
      const answer = await begun(era, 'talk', 'application/json').answer;
      expect(answer.headers['content-type']).toBe('application/json');
      await answer.ended;
      expect(JSON.parse(answer.text())).toMatchObject({ jsonrpc: '2.0', id: 7, result: done });
    },
  );

  it('that is slow gets its headers as a stream', verifies('gateway:http:stream-when-slow'), async () => {
    const { answer } = begun(era, 'hold');
    let isOut = false;
    void answer.then(() => {
      isOut = true;
    });
    await until(() => held.length === 1, 'the backend works');
    clock.leap(limits.sseAfterMs / 2);
    // A whole exchange of another client: what was on its way out would have come.
    await send(house.at('/modern/mcp'), modern({ method: 'tools/list' }));
    expect(isOut).toBe(false);
    clock.leap(past(limits.sseAfterMs));
    const stream = await answer;
    expect({ status: stream.status, type: stream.headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
    held[0]?.result(worked(held[0].message));
    expect(await messagesOf(stream)).toMatchObject([{ jsonrpc: '2.0', id: 7, result: done }]);
  });

  it('that is slow waits if the client accepts JSON alone', verifies('gateway:http:stream-when-slow'), async () => {
    const { answer } = begun(era, 'hold', 'application/json');
    await until(() => held.length === 1, 'the backend works');
    clock.leap(past(limits.sseAfterMs));
    held[0]?.result(worked(held[0].message));
    const json = await answer;
    expect(json.headers['content-type']).toBe('application/json');
    await json.ended;
    expect(JSON.parse(json.text())).toMatchObject({ id: 7, result: done });
  });
});

it('a call with a server request is answered in a stream', verifies('gateway:http:stream-when-talking'), async () => {
  const capabilities = { elicitation: {} };
  const { client } = await house.connect('/legacy/mcp', { capabilities });
  const begunCall = begin(client.url, {
    body: request(7, 'tools/call', { name: 'hold', arguments: { n: 1 } }),
    headers: client.headers,
  });
  await until(() => held.length === 1, 'the backend works');
  const [turn] = held;
  const ask = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  turn?.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: ask });
  const stream = await begunCall.answer;
  expect(stream.headers['content-type']).toBe('text/event-stream');
  const asked = await stream.message(({ method }) => method === 'elicitation/create');
  expect(asked.params).toEqual(ask);
  turn?.event({ jsonrpc: '2.0', id: turn.message.id, result: worked(turn.message) }).end();
  expect((await stream.message(({ id }) => id === 7)).result).toMatchObject(done);
});

interface Quiet {
  readonly name: string;
  open(): Promise<OpenAnswer>;
}
const listening = modern({ id: 'x', method: 'subscriptions/listen', params: { notifications: {} } });
const quiet: readonly Quiet[] = [
  ...eras.map((era) => ({
    name: `the answer to a ${era} call`,
    open: async () => {
      const { answer } = begun(era, 'hold');
      await until(() => held.length === 1, 'the backend works');
      clock.leap(past(limits.sseAfterMs));
      return answer;
    },
  })),
  {
    name: 'a subscription',
    open: async () => {
      const stream = await open(house.at('/modern/mcp'), listening);
      await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
      return stream;
    },
  },
  { name: 'a standalone stream', open: () => live.listen() },
  { name: 'a stream of HTTP+SSE', open: () => open(house.at('/legacy/sse'), { method: 'GET' }) },
];

describe.each(quiet)('$name', ({ open: opened }) => {
  it('is kept alive by comments while it is idle', verifies('gateway:http:keep-alive'), async () => {
    const stream = await opened();
    const comments = () => stream.text().match(/^:.*\n\n/gm)?.length ?? 0;
    expect(comments()).toBe(0);
    const said = stream.events.length;
    for (const n of [1, 2, 3]) {
      clock.leap(past(limits.keepAliveMs));
      await until(() => comments() === n, `comment ${n} has come`);
    }
    // They are no events.
    expect(stream.events.length).toBe(said);
    expect(stream.over).toBe(false);
  });

  it('is not buffered by proxies', verifies('gateway:http:no-buffering'), async () => {
    const { status, headers } = await opened();
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers['content-length']).toBeUndefined();
  });
});
