/** `notifications/cancelled`, frame by frame: whose it is, whom it names, and what it leaves alone. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { count, startBeforeProcess } from '../backend/setup.ts';
import {
  behindLegacy,
  call,
  cancelled,
  expectRefused,
  Held,
  hasRead,
  notification,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Answer, begin, type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

const messages = (answer: Pick<Answer, 'events'>): Json[] =>
  answer.events.flatMap((event) => (event.data ? [event.json()] : []));

const form = { message: '?', requestedSchema: { type: 'object', properties: {} } };

describe('a cancelled call', () => {
  it(
    'is cancelled under the id that the backend knows, and never answered',
    verifies('protocol:cancel:handler-abort-propagates', 'protocol:cancel:in-flight'),
    async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const client = await connectLegacy(url);
      const answer = await client.stream(call('mine'));
      const turn = (await held.nth(1)).stream();
      expect(turn.message.id).not.toBe('mine');
      const { status } = await client.post(cancelled('mine', 'changed my "mind"'));
      // It answers all the same.
      turn.event(result(turn.message.id, text('too late')));
      const { message } = await backend.arrival('notifications/cancelled');
      expect(message.params).toEqual({ requestId: turn.message.id, reason: 'changed my "mind"' });
      await answer.ended;
      expect({ status, said: messages(answer) }).toEqual({ status: 202, said: [] });
      expect(backend.of('notifications/cancelled')).toHaveLength(1);
    },
  );

  it(
    'that is answered late affects nothing',
    verifies('protocol:cancel:late-response-ignored', 'protocol:cancel:in-flight', 'protocol:cancel:server-survives'),
    async () => {
      const backend = await legacyProcess({
        'tools/call': () => undefined,
        'prompts/get': (turn) => turn.result({ messages: [] }),
      });
      const gateway = await startBeforeProcess(backend, { limits: streaming });
      const client = await connectLegacy(gateway.url('b'));
      const answer = await client.stream(call('mine'));
      const turn = await backend.arrival('tools/call');
      await client.post(cancelled('mine'));
      const { message, process } = await backend.arrival('notifications/cancelled');
      expect(message.params).toEqual({ requestId: turn.message.id });
      await answer.ended;
      const before = count(gateway, 'backend.noise.unknown_id');
      turn.result(text('too late'));
      await until(() => count(gateway, 'backend.noise.unknown_id') === before + 1, 'the late answer is counted');
      expect(messages(answer)).toEqual([]);
      const next = await client.post(request('next', 'prompts/get', { name: 'p' }));
      expect(messages(next)).toEqual([result('next', { messages: [] })]);
      expect((await backend.arrival('prompts/get')).process).toBe(process);
    },
  );

  it('of a modern client is cancelled once on a pipe', verifies('protocol:cancel:stream-frame'), async () => {
    const backend = await modernProcess({
      'prompts/get': () => undefined,
      'prompts/list': (turn) => turn.result({ resultType: 'complete', prompts: [] }),
    });
    const gateway = await startBeforeProcess(backend);
    const url = gateway.url('b');
    const giving = begin(url, modern({ id: 'mine', method: 'prompts/get', params: { name: 'p' } }));
    const { message } = await backend.arrival('prompts/get');
    giving.drop();
    await backend.arrival('notifications/cancelled');
    expect((await send(url, modern({ method: 'prompts/list' }))).status).toBe(200);
    expect(backend.of('notifications/cancelled').map((turn) => turn.message)).toEqual([
      notification('notifications/cancelled', { requestId: message.id }),
    ]);
  });
});

describe('a cancellation of an unknown request', () => {
  it(
    'is accepted and not forwarded',
    verifies('protocol:cancel:unknown-id-ignored', 'protocol:cancel:sender-targeting'),
    async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take });
      const client = await connectLegacy(url);
      const finished = client.post(call('finished'));
      (await held.nth(1)).result(text('1'));
      await finished;
      const running = client.post(call(7));
      const turn = await held.nth(2);
      const ids = ['unknown', 'finished', '7', turn.message.id, 0, null, {}];
      for (const requestId of ids) {
        const answer = await client.post(notification('notifications/cancelled', { requestId }));
        expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: '' });
      }
      turn.result(text('2'));
      expect((await running).json()).toEqual(result(7, text('2')));
      expect(backend.of('notifications/cancelled')).toEqual([]);
    },
  );
});

describe('a server request of a backend', () => {
  async function asked() {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const calling = await client.stream(call('c'));
    const turn = (await held.nth(1)).stream();
    // The id of the call itself, in the other direction.
    turn.event(request(turn.message.id, 'elicitation/create', form));
    const ask = await calling.message(({ method }) => method === 'elicitation/create');
    return { backend, client, calling, turn, ask };
  }

  it(
    'that is withdrawn is withdrawn at the client, under the id that the client knows',
    verifies('protocol:cancel:server-to-client', 'protocol:cancel:sender-targeting'),
    async () => {
      const { backend, client, calling, turn, ask } = await asked();
      turn.event(cancelled(turn.message.id, 'never mind'));
      const withdrawn = await calling.message(({ method }) => method === 'notifications/cancelled');
      expect(withdrawn.params.requestId).toBe(ask.id);
      // The call with the same id goes on, and the late answer goes nowhere.
      backend.forget();
      await client.post(result(ask.id, { action: 'accept', content: {} }));
      await hasRead(backend, turn);
      expect(backend.received.filter(({ message }) => message?.result?.action)).toEqual([]);
      turn.event(result(turn.message.id, text('done'))).end();
      await calling.ended;
      expect(messages(calling).at(-1)).toEqual(result('c', text('done')));
    },
  );

  it(
    'is not touched when the client cancels a call with an equal id',
    verifies('protocol:cancel:sender-targeting'),
    async () => {
      const { backend, client, calling, turn, ask } = await asked();
      const other = client.stream(call(ask.id));
      await backend.arrival('tools/call', 2);
      await client.post(cancelled(ask.id));
      await (await other).ended;
      const { message } = await backend.arrival('notifications/cancelled');
      expect(message.params.requestId).toBe(backend.of('tools/call')[1]?.message.id);
      await client.post(result(ask.id, { action: 'decline' }));
      await until(
        () => backend.received.some((one) => one.message?.result?.action === 'decline'),
        'the answer arrives',
      );
      turn.event(result(turn.message.id, text('done'))).end();
      await calling.ended;
      expect(messages(calling).at(-1)).toEqual(result('c', text('done')));
    },
  );
});

describe('initialize', () => {
  it(
    'is cancelled by closing the connection, and not by a notification',
    verifies('protocol:cancel:initialize-not-cancellable'),
    async () => {
      const clock = new LeapClock();
      const held = new Held();
      const { url, backend } = await behindLegacy({ initialize: held.take }, { ports: { clock } });
      const answer = send(url, { body: initialize() });
      const turn = await held.nth(1);
      clock.leap(24 * 60 * 60 * 1000);
      expectRefused(await answer, 200, {
        id: 'init',
        code: -32603,
        message: 'Backend timed out: it did not answer initialize',
        reason: 'backend_timeout',
      });
      await turn.closed;
      expect(backend.of('notifications/cancelled')).toEqual([]);
    },
  );

  it(
    'of a process is cancelled by ending the process',
    verifies('protocol:cancel:initialize-not-cancellable'),
    async () => {
      const clock = new LeapClock();
      const backend = await legacyProcess({ initialize: () => undefined });
      const gateway = await startBeforeProcess(backend, { ports: { clock } });
      const answer = send(gateway.url('b'), { body: initialize() });
      const { process } = await backend.arrival('initialize');
      clock.leap(24 * 60 * 60 * 1000);
      expect((await answer).json().error).toMatchObject({ code: -32603, data: { reason: 'backend_timeout' } });
      await until(() => process.gone, 'the process is gone');
      expect(backend.of('notifications/cancelled')).toEqual([]);
    },
  );
});
