/**
 * Pages that somebody has to visit. 2025-11-25 asks for them by an id, and can end a call with -32042 until they were
 * visited; the modern era asks with `input_required`, without an id, and has neither the error nor the news that a
 * visit is over.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  allRevisions,
  behindLegacy,
  behindModern,
  call,
  hasRead,
  notification,
  request,
  result,
  type Settings,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Json, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';

const pages = [
  { mode: 'url', url: 'https://example.com/a?b=%20', message: 'Sign "in"', extra: 1 },
  { mode: 'url', url: 'https://example.com/c', message: 'Pay' },
];
const elicitations = pages.map((page, at) => ({ ...page, elicitationId: `e-${at}` }));
const capabilities = { elicitation: { url: {} } };
const accept = { 'visit-1': { action: 'accept' }, 'visit-2': { action: 'accept' } };
const asked = {
  resultType: 'input_required',
  inputRequests: {
    'visit-1': { method: 'elicitation/create', params: pages[0] },
    'visit-2': { method: 'elicitation/create', params: pages[1] },
  },
  requestState: expect.any(String),
};
const requests = [
  { method: 'tools/call', params: { name: 't', arguments: { a: 1 } } },
  { method: 'prompts/get', params: { name: 'p' } },
  { method: 'resources/read', params: { uri: 'a://b' } },
];

/** Refuses so many times, and then is content. */
function refusing(times: number, data: unknown = { elicitations }) {
  let refusals = 0;
  const answer = (turn: Turn) => {
    if (refusals++ < times) turn.error(-32042, 'Please visit', data);
    else turn.result({ ...text('done'), messages: [], contents: [] });
  };
  return Object.fromEntries(
    [...requests.map(({ method }) => method), 'prompts/list'].map((method) => [method, answer]),
  );
}

const refused = (reason: string, message: string, code: number, data: object = {}) => ({
  jsonrpc: '2.0',
  id: expect.anything(),
  error: { code, message, data: { reason, ...data } },
});

async function behindRefusing(times: number, settings: Settings = {}) {
  const behind = await behindLegacy(refusing(times) as Script, settings);
  let id = 0;
  const ask = async (method: string, params: object, more: object = capabilities): Promise<Json> =>
    (await send(behind.url, modern({ id: ++id, method, params: { ...params }, capabilities: more }))).json();
  return { ...behind, ask };
}

describe(
  'a call that its legacy backend rejects with -32042 until pages were visited',
  verifies('gateway:bridge:url-elicitation'),
  () => {
    it.each(requests)(
      'becomes a URL elicitation for a modern client, and its retry is a new call: $method',
      async ({ method, params }) => {
        const { ask, backend, gateway } = await behindRefusing(1);
        const first = await ask(method, params);
        expect(first.result).toEqual(asked);
        const { requestState } = first.result;
        const second = await ask(method, { ...params, inputResponses: accept, requestState });
        expect(second.result).toMatchObject({ resultType: 'complete', ...text('done') });
        const calls = backend.of(method);
        expect(calls).toHaveLength(2);
        // Nothing of the round reaches the backend.
        expect(calls.map(({ message }) => message.params)).toEqual([1, 2].map(() => ({ ...params, _meta: {} })));
        expect(new Set(calls.map(({ message }) => message.id)).size).toBe(2);
        expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
      },
    );

    it('elicits again if the pages were not visited, as often as rounds are allowed', async () => {
      const { ask, backend } = await behindRefusing(40, { limits: { rounds: 3 } });
      const params = { name: 't' };
      let state = {};
      for (const _round of [1, 2, 3]) {
        const { result: round } = await ask('tools/call', { ...params, ...state });
        expect(round).toEqual(asked);
        state = { inputResponses: accept, requestState: round.requestState };
      }
      expect(await ask('tools/call', { ...params, ...state })).toEqual(
        refused('too_many_rounds', 'Too many rounds of input', -32603),
      );
      expect(backend.of('tools/call')).toHaveLength(4);
    });

    it.each(['decline', 'cancel'])('is repeated after a %s, and does not elicit the same URL twice', async (action) => {
      const { ask } = await behindRefusing(2);
      const { result: round } = await ask('tools/call', { name: 't' });
      const inputResponses = { 'visit-1': { action: 'accept' }, 'visit-2': { action } };
      const again = { name: 't', inputResponses, requestState: round.requestState };
      expect(await ask('tools/call', again)).toEqual(
        refused('ask_declined', 'The person declined what the backend needs', -32603),
      );
      // It goes through where the backend is content without.
      expect((await ask('tools/call', again)).result).toMatchObject(text('done'));
    });

    it('holds no call meanwhile, and the state is bound to the request and its time', async () => {
      const clock = new LeapClock();
      const { ask, backend } = await behindRefusing(1, {
        limits: { parkedMs: 60_000, parkedTotal: 1 },
        ports: { clock },
      });
      const { result: round } = await ask('tools/call', { name: 't' });
      const { requestState } = round;
      const invalid = refused('invalid_request_state', 'Invalid requestState', -32602);
      expect(await ask('tools/call', { name: 'u', inputResponses: accept, requestState })).toEqual(invalid);
      expect(await ask('tools/call', { name: 't', requestState: `${requestState}A` })).toEqual(invalid);
      expect(backend.of('tools/call')).toHaveLength(1);
      expect(backend.of('notifications/cancelled')).toEqual([]);
      clock.leap(60_000);
      expect(await ask('tools/call', { name: 't', inputResponses: accept, requestState })).toEqual(invalid);
    });

    it('fails for a modern client without URL elicitation', async () => {
      const { url } = await behindRefusing(1);
      const answer = await send(
        url,
        modern({ method: 'tools/call', params: { name: 't' }, capabilities: { elicitation: {} } }),
      );
      expect(answer.status).toBe(400);
      expect(answer.json()).toEqual(
        refused('missing_capability', 'Missing required client capability', -32021, {
          requiredCapabilities: { elicitation: { url: {} } },
        }),
      );
    });

    const odd = [
      null,
      {},
      { elicitations: [] },
      { elicitations: 1 },
      { elicitations: [{ mode: 'form' }] },
      { elicitations: [pages[0], 2] },
    ];
    it.each(odd)('fails with another code if it names no URL: %j', async (data) => {
      const { url } = await behindLegacy(refusing(1, data) as Script);
      const answer = await send(url, modern({ method: 'tools/call', params: { name: 't' }, capabilities }));
      expect(answer.json().error).toMatchObject({ code: -32603, message: 'Please visit' });
    });

    it('fails with another code if no elicitation is possible', async () => {
      const { ask } = await behindRefusing(1);
      expect((await ask('prompts/list', {})).error).toMatchObject({ code: -32603, message: 'Please visit' });
    });

    it('reaches a client of 2025-11-25 unchanged, and an older one as a named error', async () => {
      const { url } = await behindLegacy(refusing(40) as Script, { endpoint: allRevisions });
      const newer = await connectLegacy(url, { capabilities });
      expect((await newer.post(call(1))).json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32042, message: 'Please visit', data: { elicitations } },
      });
      for (const revision of ['2025-03-26', '2025-06-18']) {
        const older = await connectLegacy(url, { revision, capabilities });
        expect((await older.post(call(1))).json()).toEqual(
          refused('revision_too_old', expect.stringContaining(revision) as unknown as string, -32600, {
            needs: 'the error -32042 (URL elicitation required)',
            since: '2025-11-25',
            revision,
          }),
        );
      }
    });
  },
);

it(
  '-32042 of a modern backend, which may not send it, is an error for every client',
  verifies('gateway:bridge:errors-mapped'),
  async () => {
    const { url } = await behindModern({
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
      'tools/call': (turn) => turn.error(-32042, 'Please visit', { elicitations }),
    });
    const client = await connectLegacy(url, { capabilities });
    expect((await client.post(call(1))).json().error).toMatchObject({ code: -32603, message: 'Please visit' });
    const newer = await send(url, modern({ method: 'tools/call', params: { name: 't' }, capabilities }));
    expect(newer.json().error).toMatchObject({ code: -32603, message: 'Please visit' });
  },
);

/** Asks for a page, and is content with any answer. */
const visiting: Script = {
  'tools/call': (turn) => {
    if (turn.message.params.inputResponses !== undefined) turn.result({ resultType: 'complete', ...text('done') });
    else {
      const inputRequests = { page: { method: 'elicitation/create', params: pages[1] } };
      turn.result({ resultType: 'input_required', inputRequests, requestState: 's' });
    }
  },
};

describe('a URL elicitation of a modern backend', verifies('gateway:bridge:url-elicitation'), () => {
  it.each([
    { action: 'accept', told: true },
    { action: 'decline', told: false },
  ])('has an id for a client of 2025-11-25, which is notified of the completion: $action', async ({ action, told }) => {
    const { url, backend } = await behindModern(visiting, { limits: streaming });
    const client = await connectLegacy(url, { capabilities });
    const stream = await client.stream(call('c'));
    const ask = await stream.message(({ method }) => method === 'elicitation/create');
    expect(ask.params).toEqual({ ...pages[1], elicitationId: expect.stringMatching(/./) });
    await client.post(result(ask.id, { action }));
    expect(await stream.message(({ id }) => id === 'c')).toEqual(result('c', text('done')));
    const { elicitationId } = ask.params;
    expect(stream.events.flatMap((event) => (event.data ? [event.json()] : [])).slice(1, -1)).toEqual(
      told ? [notification('notifications/elicitation/complete', { elicitationId })] : [],
    );
    expect(backend.of('tools/call')[1]?.message.params.inputResponses).toEqual({ page: { action } });
  });

  it.each(['2025-03-26', '2025-06-18'])('is rejected by name for a client of %s', async (revision) => {
    const { url, backend } = await behindModern(visiting, { limits: streaming, endpoint: allRevisions });
    const client = await connectLegacy(url, { revision, capabilities: { elicitation: { form: {}, url: {} } } });
    const stream = await client.stream(call('c'));
    const answer = await stream.message(({ id }) => id === 'c');
    expect(answer.error).toMatchObject({ code: -32600, data: { reason: 'revision_too_old', revision } });
    expect(stream.events.filter(({ data }) => data)).toHaveLength(1);
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});

describe('the notification that a URL elicitation is complete', verifies('gateway:bridge:url-elicitation'), () => {
  const complete = (elicitationId: string) => notification('notifications/elicitation/complete', { elicitationId });

  it('reaches no modern client', async () => {
    const { url, backend } = await behindLegacy({
      'tools/call': (turn) => {
        turn.stream().event(complete('e-1'));
        turn.event(result(turn.message.id, text('done'))).end();
      },
      'resources/subscribe': (turn) => turn.result({}),
    });
    const answer = await send(url, modern({ method: 'tools/call', params: { name: 't' }, capabilities }));
    expect(answer.json().result).toMatchObject(text('done'));
    const notifications = { toolsListChanged: true };
    const listening = await open(
      url,
      modern({ id: 'l', method: 'subscriptions/listen', params: { notifications }, capabilities }),
    );
    await listening.event(() => true);
    const standing = await backend.standing();
    standing.event(complete('e-1')).event(notification('notifications/tools/list_changed'));
    await listening.message(({ method }) => method === 'notifications/tools/list_changed');
    expect(listening.events.filter(({ data }) => data)).toHaveLength(2);
  });

  it('reaches no client that cannot have got the elicitation', async () => {
    const { url, backend } = await behindLegacy({}, { endpoint: allRevisions });
    const client = await connectLegacy(url, { revision: '2025-06-18' });
    const listening = await client.listen();
    const standing = await backend.standing();
    standing.event(complete('e-1'));
    await hasRead(backend, standing);
    expect(listening.events.filter(({ data }) => data)).toEqual([]);
  });

  it('reaches the one client of a shared process that got the elicitation, or declined it, and no other', async () => {
    const ids: Record<string, string> = { ask: 'a-1', refuse: 'r-1' };
    const backend = await legacyProcess({
      'tools/call': (turn) => {
        const { how } = turn.message.params.arguments;
        const page = { ...pages[0], elicitationId: ids[how] };
        if (how === 'refuse') turn.error(-32042, 'Please visit', { elicitations: [page] });
        else {
          turn.process.say(request('q', 'elicitation/create', page));
          void until(() => turn.process.received.some(({ id }) => id === 'q'), 'answered').then(() =>
            turn.result(text('done')),
          );
        }
      },
    });
    const { command, args } = backend;
    const gateway = await startGateway({ backends: { b: { command, args, share: true } }, limits: streaming });
    const [a, b, c] = [
      await connectLegacy(gateway.url('b'), { capabilities }),
      await connectLegacy(gateway.url('b'), { capabilities }),
      await connectLegacy(gateway.url('b'), { capabilities }),
    ];
    const streams = [await a.listen(), await b.listen(), await c.listen()];
    const calling = await a.stream(call('c', { how: 'ask' }));
    const ask = await calling.message(({ method }) => method === 'elicitation/create');
    await a.post(result(ask.id, { action: 'accept' }));
    await calling.message(({ id }) => id === 'c');
    expect((await b.post(call(1, { how: 'refuse' }))).events.at(-1)?.json().error.code).toBe(-32042);
    const { process } = await backend.arrival('tools/call');
    for (const id of ['a-1', 'r-1', 'nobody', 'a-1']) process.say(complete(id));
    process.say(notification('notifications/tools/list_changed'));
    const heard = await Promise.all(
      streams.map(async (stream) => {
        await stream.message(({ method }) => method === 'notifications/tools/list_changed');
        const messages = stream.events.flatMap((event) => (event.data ? [event.json()] : []));
        return messages.flatMap(({ params }) => params?.elicitationId ?? []);
      }),
    );
    expect(heard).toEqual([['a-1'], ['r-1'], []]);
  });
});
