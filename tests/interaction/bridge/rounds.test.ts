/**
 * A legacy client whose modern backend asks: the gateway puts the questions, and repeats the request with the answers.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindModern, request, type Settings, text } from '../harness/behind.ts';
import type { Json, OpenAnswer } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const form = { message: 'Next?', requestedSchema: { type: 'object', properties: {} } };
const question = JSON.stringify({ method: 'elicitation/create', params: form });
const params = { name: 't', arguments: { a: 1 } };
const capabilities = { elicitation: {}, sampling: {}, roots: {} };

/** A tool that has the rounds that it is given, as raw results, and then is done. */
const rounds = (results: readonly string[]) => {
  let round = 0;
  return {
    'tools/call': (turn: Turn) => {
      const result = results[round++] ?? JSON.stringify({ resultType: 'complete', ...text('done') });
      turn.json(`{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"result":${result}}`);
    },
  };
};

const required = (members: string) => `{"resultType":"input_required",${members}}`;

const started = (client: LegacyClient): Promise<OpenAnswer> => client.stream(request('c', 'tools/call', params));

/** The questions that came on a stream so far. */
const asksOn = (stream: OpenAnswer): readonly Json[] =>
  stream.events.flatMap((event) => (event.data ? [event.json()] : [])).filter(({ method, id }) => method && id);

/** Answers the nth question of a stream (from 1), in raw text. */
async function answer(client: LegacyClient, stream: OpenAnswer, nth: number, result: string): Promise<Json> {
  await stream.event(() => asksOn(stream).length >= nth);
  const ask = asksOn(stream)[nth - 1];
  const taken = await client.post(`{"jsonrpc":"2.0","id":${JSON.stringify(ask.id)},"result":${result}}`);
  expect(taken.status).toBe(202);
  return ask;
}

const last = (stream: OpenAnswer): Promise<Json> => stream.message(({ id }) => id === 'c');
const accepted = '{"action":"accept","content":{"n":1.0,"s":"\\u00e9"}}';

async function behindRounds(results: readonly string[], settings: Settings = {}) {
  const behind = await behindModern(rounds(results), settings);
  return { ...behind, client: await connectLegacy(behind.url, { capabilities }) };
}

describe('every round', verifies('gateway:bridge:rounds-state'), () => {
  it('repeats the request under a new id, with the answers and the exact state of the round before', async () => {
    const { backend, client } = await behindRounds([
      required(`"inputRequests":{"a":${question}},"requestState":"one\\/\\u0041"`),
      required(`"requestState":"","inputRequests":{"b\\u0062":${question}}`),
      required(`"inputRequests":{"c":${question}}`),
    ]);
    const stream = await started(client);
    for (const nth of [1, 2, 3]) {
      const ask = await answer(client, stream, nth, accepted);
      expect({ method: ask.method, params: ask.params }).toEqual({ method: 'elicitation/create', params: form });
    }
    expect(await last(stream)).toEqual({ jsonrpc: '2.0', id: 'c', result: text('done') });
    const calls = backend.of('tools/call');
    expect(new Set(calls.map(({ message }) => message.id)).size).toBe(4);
    const said = calls.map(({ text: raw, message }) => {
      const { inputResponses: _responses, requestState: _state, _meta, ...own } = message.params;
      expect(own).toEqual(params);
      expect(_meta['io.modelcontextprotocol/clientCapabilities']).toEqual(capabilities);
      return {
        responses: /"inputResponses":(\{.*?\}\}\})/.exec(raw)?.[1],
        state: /"requestState":("(?:[^"\\]|\\.)*")/.exec(raw)?.[1],
      };
    });
    expect(said).toEqual([
      { responses: undefined, state: undefined },
      { responses: `{"a":${accepted}}`, state: '"one\\/\\u0041"' },
      { responses: `{"bb":${accepted}}`, state: '""' },
      // None was given, so none is sent: not that of an earlier round either.
      { responses: `{"c":${accepted}}`, state: undefined },
    ]);
  });

  it('waits for answers to all its requests, in any order', async () => {
    const { backend, client } = await behindRounds([
      required(`"inputRequests":{"a":${question},"b":{"method":"roots/list"},"c":${question}},"requestState":"s"`),
    ]);
    const stream = await started(client);
    await stream.event(() => asksOn(stream).length === 3);
    const answers = ['{"action":"accept","content":{"x":1}}', '{"roots":[]}', '{"action":"decline"}'];
    for (const nth of [3, 1, 2]) {
      expect(backend.of('tools/call')).toHaveLength(1);
      await answer(client, stream, nth, answers[nth - 1] as string);
    }
    expect((await last(stream)).result).toEqual(text('done'));
    expect(backend.of('tools/call')[1]?.message.params).toMatchObject({
      inputResponses: { a: { action: 'accept', content: { x: 1 } }, b: { roots: [] }, c: { action: 'decline' } },
      requestState: 's',
    });
  });
});

describe('rounds', verifies('gateway:bridge:rounds-bounded'), () => {
  const endless = Array.from({ length: 40 }, (_, index) => required(`"inputRequests":{"q${index}":${question}}`));
  const tooMany = {
    jsonrpc: '2.0',
    id: 'c',
    error: { code: -32603, message: 'Too many rounds of input', data: { reason: 'too_many_rounds' } },
  };

  it('are as many as the limit allows', async () => {
    const { backend, client } = await behindRounds(endless, { limits: { rounds: 3 } });
    const stream = await started(client);
    for (const nth of [1, 2, 3]) await answer(client, stream, nth, accepted);
    expect(await last(stream)).toEqual(tooMany);
    expect(backend.of('tools/call')).toHaveLength(4);
  });

  it('are 10 by default, and rounds without a request count, too', async () => {
    const states = Array.from({ length: 40 }, (_, index) => required(`"requestState":"${index}"`));
    const { backend, client } = await behindRounds(states);
    expect((await client.post(request('c', 'tools/call', params))).json()).toEqual(tooMany);
    expect(backend.of('tools/call').map(({ message }) => message.params.requestState)).toEqual([
      undefined,
      ...Array.from({ length: 10 }, (_, index) => String(index)),
    ]);
  });

  const withdrawn = (ask: Json) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: ask.id },
  });

  it('wait for the user no longer than the limit: then the request is withdrawn and counts as cancelled', async () => {
    const clock = new LeapClock();
    const { backend, client } = await behindRounds(endless.slice(0, 1), {
      limits: { askMs: 60_000 },
      ports: { clock },
    });
    const stream = await started(client);
    await stream.event(() => asksOn(stream).length === 1);
    clock.leap(59_000);
    expect(backend.of('tools/call')).toHaveLength(1);
    clock.leap(2_000);
    expect((await last(stream)).result).toEqual(text('done'));
    const [ask] = asksOn(stream);
    expect(stream.events.filter((event) => event.data).map((event) => event.json())[1]).toEqual(withdrawn(ask));
    expect(backend.of('tools/call')[1]?.message.params.inputResponses).toEqual({ q0: { action: 'cancel' } });
    // Too late.
    expect((await client.post(`{"jsonrpc":"2.0","id":${ask.id},"result":${accepted}}`)).status).toBe(202);
    expect(backend.of('tools/call')).toHaveLength(2);
  });

  it('end with the limit where there is no such answer', async () => {
    const clock = new LeapClock();
    const sampling = required(
      '"inputRequests":{"s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}',
    );
    const { backend, client } = await behindRounds([sampling], { limits: { askMs: 60_000 }, ports: { clock } });
    const stream = await started(client);
    await stream.event(() => asksOn(stream).length === 1);
    clock.leap(61_000);
    expect(await last(stream)).toEqual({
      jsonrpc: '2.0',
      id: 'c',
      error: { code: -32603, message: 'The client did not answer in time', data: { reason: 'ask_timeout' } },
    });
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});
