/**
 * Questions of a legacy backend on their way to a modern client: joined, withdrawn, answered in part, and put where
 * nobody can answer.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  cancelled,
  Held,
  hasRead,
  notification,
  request,
  result,
  type Settings,
  text,
} from '../harness/behind.ts';
import { type Json, open, send, until } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';
import { legacyProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const form = (message: string) => ({ message, requestedSchema: { type: 'object', properties: {} } });
const accept = (name: string) => ({ action: 'accept', content: { name } });
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const params = { name: 't', arguments: {} };
const elicit = (id: string, message = id) => request(id, 'elicitation/create', form(message));

/** A legacy backend whose calls wait, and a modern client of it. */
async function behindAsking(settings: Settings = {}) {
  const held = new Held();
  const behind = await behindLegacy(
    { 'tools/call': held.take, 'tools/list': (turn) => turn.result({ tools: [] }) },
    settings,
  );
  let id = 0;
  const ask = async (more: object = {}, meta: object = {}): Promise<Json> => {
    const answer = await send(
      behind.url,
      modern({ id: ++id, method: 'tools/call', params: { ...params, ...more }, capabilities, meta }),
    );
    return answer.events.at(-1)?.json() ?? answer.json();
  };
  const answers = () =>
    behind.backend.received.flatMap(({ message }) => (message?.method === undefined && message ? [message] : []));
  return { ...behind, held, ask, answers };
}

const asksOf = ({ result: { inputRequests } }: Json) =>
  Object.fromEntries(Object.entries<Json>(inputRequests).map(([key, one]) => [key, one.params?.message ?? one.method]));

function finish(turn: Turn): void {
  turn.event(result(turn.message.id, text('done'))).end();
}

describe('a modern client of a legacy backend', () => {
  it(
    'gets requests for sampling and roots like those for elicitation',
    verifies('gateway:bridge:sampling-roots'),
    async () => {
      const { held, ask, answers } = await behindAsking();
      const first = ask();
      const turn = (await held.nth(1)).stream();
      const sampling = { messages: [{ role: 'user', content: { type: 'text', text: 'ü' } }], maxTokens: 5 };
      turn.event(request('s', 'sampling/createMessage', sampling)).event(request('r', 'roots/list'));
      const { result: round } = await first;
      expect(round.inputRequests).toEqual({
        'ask-1': { method: 'sampling/createMessage', params: sampling },
        'ask-2': { method: 'roots/list', params: {} },
      });
      const sampled = { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' };
      const roots = { roots: [{ uri: 'file:///x' }] };
      const second = ask({ requestState: round.requestState, inputResponses: { 'ask-2': roots, 'ask-1': sampled } });
      await until(() => answers().length === 2, 'the backend has its answers');
      expect(answers()).toEqual(expect.arrayContaining([result('s', sampled), result('r', roots)]));
      finish(turn);
      expect((await second).result).toMatchObject(text('done'));
    },
  );

  it('gets requests that arrived in between in the next round', verifies('gateway:bridge:second-ask'), async () => {
    const { held, ask, answers, backend } = await behindAsking();
    const first = ask();
    const turn = (await held.nth(1)).stream().event(elicit('one'));
    const round = await first;
    expect(asksOf(round)).toEqual({ 'ask-1': 'one' });
    turn.event(elicit('two'));
    await hasRead(backend, turn);
    const { requestState } = round.result;
    const second = await ask({ requestState, inputResponses: { 'ask-1': accept('A') } });
    expect(asksOf(second)).toEqual({ 'ask-2': 'two' });
    // The first one was answered meanwhile.
    await until(() => answers().some(({ id }) => id === 'one'), 'the backend has the first answer');
    const third = ask({ requestState: second.result.requestState, inputResponses: { 'ask-2': accept('B') } });
    await until(() => answers().some(({ id }) => id === 'two'), 'the backend has the second answer');
    finish(turn);
    expect((await third).result).toMatchObject(text('done'));
    expect(backend.of('tools/call')).toHaveLength(1);
  });

  it('gets unanswered requests again', verifies('gateway:bridge:partial-answers'), async () => {
    const { held, ask, answers } = await behindAsking();
    const first = ask();
    const turn = (await held.nth(1)).stream().event(elicit('one')).event(elicit('two'));
    const round = await first;
    expect(asksOf(round)).toEqual({ 'ask-1': 'one', 'ask-2': 'two' });
    const inputResponses = { 'ask-2': accept('B'), unknown: {} };
    const second = await ask({ requestState: round.result.requestState, inputResponses });
    expect(asksOf(second)).toEqual({ 'ask-1': 'one' });
    const third = await ask({ requestState: second.result.requestState });
    expect(asksOf(third)).toEqual({ 'ask-1': 'one' });
    const last = ask({ requestState: third.result.requestState, inputResponses: { 'ask-1': accept('A') } });
    await until(() => answers().some(({ id }) => id === 'one'), 'the backend has both answers');
    expect(answers().filter(({ id }) => id === 'one' || id === 'two')).toEqual([
      result('two', accept('B')),
      result('one', accept('A')),
    ]);
    finish(turn);
    expect((await last).result).toMatchObject(text('done'));
  });

  it.each([
    { name: 'a late answer reaches no backend', late: { 'ask-1': accept('late') } },
    { name: 'need not answer it', late: {} },
  ])('does not get withdrawn requests again: $name', verifies('gateway:exchange:ask-withdrawn'), async ({ late }) => {
    const { held, ask, answers, backend } = await behindAsking();
    const first = ask();
    const turn = (await held.nth(1)).stream().event(elicit('one')).event(elicit('two'));
    const round = await first;
    turn.event(cancelled('one'));
    await hasRead(backend, turn);
    const second = ask({
      requestState: round.result.requestState,
      inputResponses: { ...late, 'ask-2': accept('B') },
    });
    await until(() => answers().some(({ id }) => id === 'two'), 'the backend has the answer');
    finish(turn);
    expect((await second).result).toMatchObject(text('done'));
    expect(answers().filter(({ id }) => id === 'one')).toEqual([]);
  });

  it(
    'gets the result itself if all requests were withdrawn before its retry',
    verifies('gateway:exchange:ask-withdrawn'),
    async () => {
      const { held, ask, backend } = await behindAsking();
      const first = ask();
      const turn = (await held.nth(1)).stream().event(elicit('one'));
      const round = await first;
      turn.event(cancelled('one'));
      await hasRead(backend, turn);
      finish(turn);
      await turn.closed;
      const again = await ask({ requestState: round.result.requestState, inputResponses: { 'ask-1': accept('late') } });
      expect(again.result).toMatchObject(text('done'));
    },
  );

  it(
    'does not get requests that its retry does not declare',
    verifies('gateway:bridge:capabilities-narrowed'),
    async () => {
      const { held, ask, url, backend } = await behindAsking();
      const first = ask();
      (await held.nth(1)).stream().event(elicit('one'));
      const { requestState } = (await first).result;
      const retry = await send(url, modern({ id: 9, method: 'tools/call', params: { ...params, requestState } }));
      expect(retry.status).toBe(400);
      expect(retry.json().error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: { form: {} } } },
      });
      await backend.arrival('notifications/cancelled');
    },
  );

  it('gets progress under the token of its retry', verifies('gateway:bridge:progress-remapped'), async () => {
    const { held, ask, url, backend } = await behindAsking();
    const first = ask({}, { progressToken: 'first' });
    const turn = (await held.nth(1)).stream();
    const { progressToken } = turn.message.params._meta;
    const progress = (value: number) => notification('notifications/progress', { progressToken, progress: value });
    turn.event(progress(1)).event(elicit('one'));
    const { requestState } = (await first).result;
    turn.event(progress(2));
    await hasRead(backend, turn);
    const again = { ...params, requestState, inputResponses: { 'ask-1': accept('A') } };
    const retry = await open(
      url,
      modern({ id: 2, method: 'tools/call', params: again, capabilities, meta: { progressToken: 2 } }),
    );
    turn.event(progress(3));
    await retry.message(({ params: told }) => told?.progress === 3);
    finish(turn);
    await retry.ended;
    const told = retry.events.flatMap((event) => (event.data ? [event.json()] : [])).filter(({ method }) => method);
    expect(told).toEqual(
      [2, 3].map((value) => notification('notifications/progress', { progressToken: 2, progress: value })),
    );
  });
});

describe('a server request that no modern request can carry', verifies('gateway:bridge:ask-outside-call'), () => {
  const refusedAs = (answers: Json[]) =>
    Object.fromEntries(answers.map(({ id, error }) => [id, { code: error?.code, reason: error?.data?.reason }]));
  const refusals = {
    e: { code: -32602, reason: 'ask_not_supported' },
    s: { code: -32600, reason: 'ask_not_supported' },
    r: { code: -32601, reason: 'ask_not_supported' },
  };
  const questions = [
    elicit('e'),
    request('s', 'sampling/createMessage', { messages: [], maxTokens: 1 }),
    request('r', 'roots/list'),
  ];

  it('is rejected during a request that cannot carry it, and the request continues', async () => {
    const listing = new Held();
    const { url, backend } = await behindLegacy({ 'prompts/list': listing.take });
    const answer = send(url, modern({ method: 'prompts/list', capabilities }));
    const turn = (await listing.nth(1)).stream();
    for (const question of questions) turn.event(question);
    const answers = () => backend.received.flatMap(({ message }) => (message?.error ? [message] : []));
    await until(() => answers().length === 3, 'all are refused');
    expect(refusedAs(answers())).toEqual(refusals);
    turn.event(result(turn.message.id, { prompts: [] })).end();
    expect((await answer).json().result).toMatchObject({ prompts: [], resultType: 'complete' });
  });

  it('is refused outside any request', async () => {
    const { url, backend } = await behindLegacy({ 'prompts/list': (turn) => turn.result({ prompts: [] }) });
    await send(url, modern({ method: 'prompts/list', capabilities }));
    const standing = await backend.standing();
    for (const question of questions) standing.event(question);
    const answers = () => backend.received.flatMap(({ message }) => (message?.error ? [message] : []));
    await until(() => answers().length === 3, 'all are refused');
    expect(refusedAs(answers())).toEqual(refusals);
  });
});

describe('when a server request does not name its call', verifies('gateway:bridge:ask-attribution'), () => {
  const ask = (url: string, id: number, more: object = {}, declared: object = capabilities) =>
    send(
      url,
      modern({ id, method: 'tools/call', params: { ...params, arguments: { id }, ...more }, capabilities: declared }),
    );

  it('a call that may get server requests has its own process, also while it is pending; others share one', async () => {
    const calls: StdioTurn[] = [];
    const backend = await legacyProcess({
      'tools/list': (turn) => turn.result({ tools: [] }),
      'tools/call': (turn) => {
        calls.push(turn);
        const { id } = turn.message.params.arguments;
        if (id >= 10) turn.result(text('unasked'));
        else turn.process.say(elicit('q', `of ${id}`));
      },
      response: (turn) => {
        const asked = calls.find(({ process }) => process === turn.process);
        asked?.result(text(`${turn.message.result.content.name} for ${asked.message.params.arguments.id}`));
      },
    });
    const gateway = await startGateway({ backends: { b: { command: backend.command, args: backend.args } } });
    const url = gateway.url('b');
    const rounds = (await Promise.all([1, 2, 3].map((id) => ask(url, id)))).map((answer) => answer.json());
    expect(rounds.map((round) => asksOf(round)['ask-1'])).toEqual(['of 1', 'of 2', 'of 3']);
    expect(new Set(calls.map(({ process }) => process.pid)).size).toBe(3);
    // All three are parked, and block nobody: not one who can be asked, nor those who cannot.
    expect((await ask(url, 10)).json().result).toMatchObject(text('unasked'));
    const unasked = await Promise.all([11, 12].map((id) => ask(url, id, {}, {})));
    expect(unasked.map((answer) => answer.json().result.content)).toEqual([
      text('unasked').content,
      text('unasked').content,
    ]);
    expect(new Set(calls.slice(-2).map(({ process }) => process.pid)).size).toBe(1);
    const answers = await Promise.all(
      rounds.map(({ result: { requestState } }, at) =>
        ask(url, at + 1, { requestState, inputResponses: { 'ask-1': accept(`answer ${at + 1}`) } }),
      ),
    );
    expect(answers.map((answer) => answer.json().result.content)).toEqual(
      [1, 2, 3].map((id) => text(`answer ${id} for ${id}`).content),
    );
  });

  it('a backend that sends them on its standalone stream is detected, and calls get their own sessions', async () => {
    const streams = new Map<unknown, Turn>();
    const held = new Held();
    const { url, backend } = await behindLegacy({
      GET: (turn) => void streams.set(turn.received.headers['mcp-session-id'], turn.stream()),
      'tools/list': (turn) => turn.result({ tools: [] }),
      'tools/call': held.take,
    });
    const session = (turn: Turn) => turn.received.headers['mcp-session-id'];
    const put = async (turn: Turn) => {
      turn.stream();
      await until(() => streams.has(session(turn)), 'its session has a stream');
      streams.get(session(turn))?.event(elicit('q', `of ${turn.message.params.arguments.id}`));
    };
    const first = ask(url, 1);
    await put(await held.nth(1));
    expect(asksOf((await first).json())).toEqual({ 'ask-1': 'of 1' });
    const others = [ask(url, 2), ask(url, 3)];
    await held.nth(3);
    for (const turn of held.turns.slice(1)) await put(turn);
    const rounds = await Promise.all(others);
    expect(rounds.map((answer) => asksOf(answer.json())['ask-1'])).toEqual(['of 2', 'of 3']);
    expect(new Set(held.turns.map(session)).size).toBe(3);
    expect(backend.received.filter(({ message }) => message?.error)).toEqual([]);
  });
});

describe('rounds of a modern client', verifies('gateway:bridge:rounds-bounded'), () => {
  it('are as many as the limit allows; then the call is cancelled', async () => {
    const { held, ask, backend } = await behindAsking({ limits: { rounds: 2 } });
    let round = ask();
    const turn = (await held.nth(1)).stream();
    for (const nth of [1, 2]) {
      turn.event(elicit(`q${nth}`));
      const { requestState } = (await round).result;
      round = ask({ requestState, inputResponses: { [`ask-${nth}`]: accept('A') } });
      await until(() => backend.received.some(({ message }) => message?.id === `q${nth}`), 'answered');
    }
    turn.event(elicit('q3'));
    expect((await round).error).toEqual({
      code: -32603,
      message: 'Too many rounds of input',
      data: { reason: 'too_many_rounds' },
    });
    await backend.arrival('notifications/cancelled');
  });

  it('hold no more bytes than the limit allows', async () => {
    const { held, ask, backend } = await behindAsking({ limits: { roundBytes: 2048 } });
    const round = ask();
    const turn = (await held.nth(1)).stream();
    turn.bytes(
      `data: ${JSON.stringify(elicit('q1', 'x'.repeat(1200)))}\n\ndata: ${JSON.stringify(elicit('q2', 'x'.repeat(1200)))}\n\n`,
    );
    expect((await round).error).toEqual({
      code: -32603,
      message: 'Too many bytes in one round of input',
      data: { reason: 'round_too_large' },
    });
    await backend.arrival('notifications/cancelled');
    const refused = backend.received.find(({ message }) => message?.id === 'q2');
    expect(refused?.message.error.data.reason).toBe('round_too_large');
  });
});
