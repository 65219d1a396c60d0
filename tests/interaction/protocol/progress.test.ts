/** Progress: under the client's own token, in order, and only while the request lives. */
import { describe, expect, it } from 'vitest';
import { diverges, verifies } from '../../requirements/verifies.ts';
import { count, pairOf } from '../backend/setup.ts';
import {
  behindLegacy,
  call,
  Held,
  hasRead,
  notification,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Answer, type Json, until } from '../harness/client.ts';
import { connectLegacy, eras } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const method = 'notifications/progress';
const work = (progressToken?: string | number, args: object = {}) => ({
  name: 'work',
  arguments: args,
  ...(progressToken === undefined ? {} : { _meta: { progressToken } }),
});
const done = { resultType: 'complete', content: [] };

const tokenOf = (turn: Turn): Json => turn.message.params._meta?.progressToken;
const report = (turn: Turn, params: object) => turn.event(notification(method, params));
const finish = (turn: Turn) => turn.event(result(turn.message.id, done)).end();
const messages = (answer: Pick<Answer, 'events'>): Json[] =>
  answer.events.flatMap((event) => (event.data ? [event.json()] : []));
const progressOf = (answer: Pick<Answer, 'events'>) =>
  messages(answer).flatMap((message) => (message.method === method ? [message.params] : []));

describe.each(eras)('progress, %s', (era) => {
  async function held() {
    const turns = new Held();
    const pair = await pairOf(era, { 'tools/call': turns.take }, { limits: streaming });
    return { ...pair, turns };
  }

  it(
    'arrives in order, as it was sent, before the result',
    verifies('protocol:progress:callback', 'protocol:progress:token-injected'),
    async () => {
      const { begin, turns } = await held();
      const answer = await begin('c', 'tools/call', work('client token'));
      const turn = (await turns.nth(1)).stream();
      const token = tokenOf(turn);
      expect(token).not.toBe('client token');
      const steps = [
        { progress: 0.25, total: 3, message: 'erst "dies"', extra: { kept: true } },
        { progress: 1 },
        { progress: 3, total: 3 },
      ];
      for (const step of steps) report(turn, { progressToken: token, ...step });
      finish(turn);
      await answer.ended;
      expect(progressOf(answer)).toEqual(steps.map((step) => ({ progressToken: 'client token', ...step })));
      expect(messages(answer).at(-1)).toMatchObject({ id: 'c', result: { content: [] } });
    },
  );

  it(
    'of calls with one token goes to each its own',
    verifies('protocol:progress:token-unique', 'protocol:progress:token-injected'),
    async () => {
      const { begin, turns } = await held();
      const answers = [
        await begin('a', 'tools/call', work(0, { at: 0 })),
        await begin('b', 'tools/call', work(0, { at: 1 })),
      ];
      const [first, second] = [(await turns.nth(1)).stream(), (await turns.nth(2)).stream()];
      expect(tokenOf(first)).not.toBe(tokenOf(second));
      for (const turn of [first, second]) {
        report(turn, { progressToken: tokenOf(turn), progress: turn.message.params.arguments.at + 1 });
        finish(turn);
      }
      for (const [index, answer] of answers.entries()) {
        await answer.ended;
        expect(progressOf(answer)).toEqual([{ progressToken: 0, progress: index + 1 }]);
      }
    },
  );

  it('that falls is passed on as it is', diverges('protocol:progress:monotonic'), async () => {
    const { begin, turns } = await held();
    const answer = await begin('c', 'tools/call', work('t'));
    const turn = (await turns.nth(1)).stream();
    for (const progress of [5, 5, 2]) report(turn, { progressToken: tokenOf(turn), progress });
    finish(turn);
    await answer.ended;
    expect(progressOf(answer).map(({ progress }) => progress)).toEqual([5, 5, 2]);
  });

  it('is not sent to a client without a token', verifies('protocol:progress:no-token'), async () => {
    const { begin, turns } = await held();
    const answer = await begin('c', 'tools/call', work());
    const turn = (await turns.nth(1)).stream();
    expect(tokenOf(turn)).toBeUndefined();
    for (const progressToken of [turn.message.id, 'c', 1]) report(turn, { progressToken, progress: 1 });
    finish(turn);
    await answer.ended;
    expect(messages(answer)).toMatchObject([{ id: 'c', result: { content: [] } }]);
  });

  it(
    'after the response is dropped',
    verifies('protocol:progress:stops-after-completion', 'protocol:progress:late-dropped-by-client'),
    async () => {
      const { begin, turns, gateway } = await held();
      const answer = await begin('c', 'tools/call', work('t'));
      const turn = (await turns.nth(1)).stream();
      const before = count(gateway, 'backend.noise.unknown_id');
      turn.event(result(turn.message.id, done));
      report(turn, { progressToken: tokenOf(turn), progress: 9 });
      turn.event(notification('notifications/message', { level: 'error', data: 'late' }));
      turn.end();
      await answer.ended;
      await until(() => count(gateway, 'backend.noise.unknown_id') === before + 2, 'both were dropped and counted');
      expect(messages(answer)).toMatchObject([{ id: 'c', result: { content: [] } }]);
    },
  );
});

describe('progress on the standalone stream of a legacy backend', () => {
  it(
    'goes to its call while that runs, and is dropped afterwards',
    verifies('protocol:progress:late-dropped-by-client', 'protocol:progress:stops-after-completion'),
    async () => {
      const held = new Held();
      const { url, backend, gateway } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const client = await connectLegacy(url);
      const standing = await backend.standing();
      const listening = await client.listen();
      const answer = await client.stream(call('c', {}, { progressToken: 't' }));
      const turn = await held.nth(1);
      report(standing, { progressToken: tokenOf(turn), progress: 1 });
      await answer.message((message) => message.method === method);
      turn.result(done);
      await answer.ended;
      report(standing, { progressToken: tokenOf(turn), progress: 2 });
      await hasRead(backend, standing);
      expect(count(gateway, 'backend.odd.unattributed')).toBe(1);
      expect(progressOf(answer)).toEqual([{ progressToken: 't', progress: 1 }]);
      expect(messages(listening)).toEqual([]);
    },
  );
});

describe('progress of a client', () => {
  it(
    'on a server request reaches the backend under the token of the backend',
    verifies('protocol:progress:client-to-server'),
    async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const client = await connectLegacy(url, { capabilities: { sampling: {} } });
      const calling = await client.stream(call('c'));
      const turn = (await held.nth(1)).stream();
      const params = { messages: [], maxTokens: 1, _meta: { progressToken: 'backend token' } };
      turn.event(request('q', 'sampling/createMessage', params));
      const ask = await calling.message((message) => message.method === 'sampling/createMessage');
      const { progressToken } = ask.params._meta;
      await client.post(notification(method, { progressToken, progress: 0.5, message: 'thinking' }));
      const { message } = await backend.arrival(method);
      expect(message.params).toEqual({ progressToken: 'backend token', progress: 0.5, message: 'thinking' });
      turn.event(result(turn.message.id, text('done'))).end();
      await calling.ended;
    },
  );
});
