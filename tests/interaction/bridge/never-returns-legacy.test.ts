/**
 * Legacy clients that are asked something and say nothing, or go: what waits for them ends, and what comes later goes
 * nowhere.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, expectRefused, request, sessionEnded, sessionNotFound, text } from '../harness/behind.ts';
import { type Json, type OpenAnswer, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, eras, initialize, type LegacyClient } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { AskingBackend, transports } from '../harness/server-requests.ts';
import { SseClient } from '../harness/sse-client.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const capabilities = { elicitation: {}, sampling: {} };
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
const questions = { elicit: { method: 'elicitation/create', params: form }, sample: sampling } as const;
const MINUTE = 60_000;

/** Asks what its arguments name, and is done when it has the answers. */
function required({ params }: Json): object {
  if (params.inputResponses !== undefined || params.name === 'plain')
    return { resultType: 'complete', ...text('done') };
  const asked = (params.arguments.ask as (keyof typeof questions)[]).map((kind, n) => [`q${n}`, questions[kind]]);
  return { resultType: 'input_required', inputRequests: Object.fromEntries(asked), requestState: 's' };
}

const asking = (...ask: readonly (keyof typeof questions)[]) =>
  request('c', 'tools/call', { name: 'ask', arguments: { ask } });

/** The questions that came on a stream so far. */
const asksOn = (stream: Pick<OpenAnswer, 'events'>): readonly Json[] =>
  stream.events
    .flatMap(({ data, json }) => (data ? [json()] : []))
    .filter(({ method, id }) => method && id !== undefined);

async function asked(stream: OpenAnswer, count = 1): Promise<Json> {
  await stream.event(() => asksOn(stream).length >= count);
  return asksOn(stream)[count - 1];
}

const answerTo = ({ id }: Json) => ({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } });
const dropped = (gateway: TestGateway) => gateway.counters.snapshot()['exchange.unasked_response'] ?? 0;
const timedOut = { code: -32603, message: 'The client did not answer in time', data: { reason: 'ask_timeout' } };
const ended = { code: sessionEnded.code, message: sessionEnded.message, data: { reason: sessionEnded.reason } };

/** Tells of no changes, so that nobody listens to it. */
const plain = { capabilities: { tools: {} } };

/** A modern backend over either transport, and how many calls it has got. */
async function asker(transport: (typeof transports)[number]) {
  if (transport === 'http') {
    const backend = await modernBackend({ 'tools/call': (turn) => turn.result(required(turn.message)) }, plain);
    return { config: { url: backend.url }, calls: () => backend.of('tools/call').length };
  }
  const backend = await modernProcess({ 'tools/call': (turn) => turn.result(required(turn.message)) }, plain);
  return { config: { command: backend.command, args: backend.args }, calls: () => backend.of('tools/call').length };
}

describe.each(transports)(
  'a legacy client that does not answer the server request of its modern backend over %s',
  (transport) => {
    it(
      'gets an error by name; its late answer is accepted and dropped',
      verifies('gateway:bridge:rounds-bounded', 'gateway:legacy:response-unasked'),
      async () => {
        const clock = new LeapClock();
        const { config, calls } = await asker(transport);
        const gateway = await startGateway({ backends: { b: config }, limits: { askMs: MINUTE } }, { clock });
        const client = await connectLegacy(gateway.url('b'), { capabilities });
        const idle = clock.pending;
        const stream = await client.stream(asking('elicit', 'sample'));
        const [first, second] = [await asked(stream, 1), await asked(stream, 2)];
        // One of two is not enough.
        expect((await client.post(answerTo(first))).status).toBe(202);
        clock.leap(MINUTE - 5_000);
        expect(stream.over).toBe(false);
        clock.leap(5_000);
        expect((await stream.message(({ id }) => id === 'c')).error).toEqual(timedOut);
        await stream.ended;
        const before = dropped(gateway);
        for (const late of [first, second]) expect((await client.post(answerTo(late))).status).toBe(202);
        expect(dropped(gateway)).toBe(before + 2);
        // The backend's call ended with its question, and it hears no more of it.
        expect((await client.post(request(1, 'tools/call', { name: 'plain' }))).json().result).toEqual(text('done'));
        expect(calls()).toBe(2);
        await until(() => clock.pending <= idle + 2, 'its timers are gone');
        clock.leap(40_000);
        await until(() => clock.pending <= idle, `only ${idle} timers are set`);
      },
    );
  },
);

describe(
  'many legacy clients that do not answer',
  verifies('gateway:bridge:rounds-bounded', 'gateway:legacy:session-limit'),
  () => {
    it('have as many sessions as the limit allows, and leave nothing open', async () => {
      const CLIENTS = 50;
      const clock = new LeapClock();
      const { config, calls } = await asker('http');
      const limits = { askMs: MINUTE, sessionIdleMs: 2 * MINUTE, sessionsPerPrincipal: CLIENTS };
      const gateway = await startGateway({ backends: { b: config }, limits }, { clock });
      const url = gateway.url('b');
      await gateway.assembled.backends.get('b')?.discover();
      const idle = clock.pending;
      // Those who come later have the same room.
      for (const wave of [1, 2]) {
        const streams: OpenAnswer[] = [];
        for (let n = 0; n < CLIENTS; n++) {
          const client = await connectLegacy(url, { capabilities });
          streams.push(await client.stream(asking('sample')));
        }
        await Promise.all(streams.map((stream) => asked(stream)));
        expect(calls()).toBe(wave * CLIENTS);
        expectRefused(await send(url, { body: initialize() }), 429, {
          code: -32603,
          message: 'Too many sessions',
          reason: 'too_many_sessions',
          id: 'init',
        });
        clock.leap(2 * MINUTE);
        for (const stream of streams) expect((await stream.message(({ id }) => id === 'c')).error).toEqual(timedOut);
        clock.leap(20 * MINUTE);
        await until(() => clock.pending <= idle, `only ${idle} timers are set`);
      }
      expect(calls()).toBe(2 * CLIENTS);
      expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
    });
  },
);

describe.each(eras)('a session that ends while a server request of its %s backend is open', (era) => {
  interface Open {
    readonly gateway: TestGateway;
    readonly client: LegacyClient;
    readonly stream: OpenAnswer;
    readonly ask: Json;
    readonly legacy: AskingBackend | undefined;
    readonly calls: () => number;
    readonly idle: number;
  }

  async function open(clock: LeapClock, limits: Readonly<Record<string, number>> = {}): Promise<Open> {
    const legacy = era === 'legacy' ? await AskingBackend.start('http') : undefined;
    const modern = legacy === undefined ? await asker('http') : undefined;
    const backend = legacy?.config ?? modern?.config;
    const gateway = await startGateway({ backends: { b: backend }, limits }, { clock });
    await gateway.assembled.backends.get('b')?.discover();
    const idle = clock.pending;
    const client = await connectLegacy(gateway.url('b'), { capabilities });
    const stream = await client.stream(legacy ? request('c', 'tools/call', { name: 'greet' }) : asking('elicit'));
    const calls = () => legacy?.calls.length ?? modern?.calls() ?? 0;
    return { gateway, client, stream, ask: await asked(stream), legacy, calls, idle };
  }

  async function expectOver({ client, ask, legacy, calls }: Open): Promise<void> {
    // The backend is told by its own id and by nothing else; a modern one has no call that could be ended.
    await legacy?.expectCancelled(legacy.calls);
    await legacy?.ended(1);
    for (const late of [answerTo(ask), call(2)]) {
      const id = 'method' in late ? { id: 2 } : {};
      expectRefused(await client.post(late), 404, { ...sessionNotFound, ...id });
    }
    expect(calls()).toBe(1);
  }

  it(
    'by DELETE: the call gets an error, the backend is notified, a late answer is dropped',
    verifies('gateway:legacy:delete-settles'),
    async () => {
      const clock = new LeapClock();
      const opened = await open(clock);
      const { client, stream, idle } = opened;
      expect((await client.end()).status).toBe(204);
      expect((await stream.message(({ id }) => id === 'c')).error).toEqual(ended);
      await stream.ended;
      await expectOver(opened);
      clock.leap(40_000);
      await until(() => clock.pending <= idle, `only ${idle} timers are set`);
    },
  );

  it('by its age: the same', verifies('gateway:legacy:expiry-settles'), async () => {
    const clock = new LeapClock();
    const limits = { sessionMaxMs: MINUTE, sessionIdleMs: MINUTE, askMs: 60 * MINUTE };
    const opened = await open(clock, limits);
    // Seen by the next sweep, and not so much later that the backend could not be told in time.
    clock.leap(MINUTE + 6_000);
    expect((await opened.stream.message(({ id }) => id === 'c')).error).toEqual(ended);
    await expectOver(opened);
  });

  it(
    'is not ended by a lost connection: the server request can still be answered',
    verifies('gateway:legacy:disconnect-waits'),
    async () => {
      const { client, stream, ask, calls, legacy } = await open(new LeapClock());
      const last = stream.events.findLast(({ id }) => id !== undefined)?.id;
      stream.close();
      expect((await client.post(answerTo(ask))).status).toBe(202);
      const resumed = await client.listen({ 'last-event-id': last ?? '' });
      const { result } = await resumed.message(({ id }) => id === 'c');
      expect(result.content[0].text).toBe(legacy ? 'Hello Ada' : 'done');
      expect(calls()).toBe(legacy ? 1 : 2);
      expect(legacy?.cancelled ?? []).toEqual([]);
    },
  );
});

it(
  'a client of HTTP+SSE that disconnects during a server request has its call cancelled',
  verifies('gateway:sse:stream-end'),
  async () => {
    const backend = await AskingBackend.start('http');
    const gateway = await startGateway({ backends: { b: backend.config } });
    const client = await SseClient.connect(`${gateway.origin}/servers/b/sse`, {
      revision: '2025-06-18',
      capabilities,
    });
    await client.post(request('c', 'tools/call', { name: 'greet' }));
    const ask = await client.stream.message(({ method }) => method === 'elicitation/create');
    client.close();
    await backend.expectCancelled(backend.calls);
    await backend.ended(1);
    expectRefused(await client.post(answerTo(ask)), 404, sessionNotFound);
  },
);
