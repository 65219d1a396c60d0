/** What happens between the question, the answer and the call: a reload, a late answer, further rounds. */
import { describe, expect, it } from 'vitest';
import { StoreError } from '../../../src/store/errors.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { AskingBackend } from '../harness/server-requests.ts';
import { openHouse, paths } from '../policy/setup.ts';
import { asking, Office, steps } from './setup.ts';

const form = { elicitation: { form: {} } };

describe('a reload between the approval and the call', () => {
  const ask = { id: 'ask', effect: 'approval', what: ['call'], on: { tools: ['*delete*'] }, by: 'caller' };
  const all = { id: 'all', effect: 'allow' };

  it.each([
    { name: 'that denies the call, denies it', rules: [all, { id: 'no', effect: 'deny' }], says: 'policy_denied' },
    { name: 'that allows nothing, denies it', rules: [ask], says: 'policy_denied' },
    { name: 'that changes the rule, asks anew', rules: [all, { ...ask, for: '1min' }], says: 'input_required' },
    { name: 'that drops the rule, sends it', rules: [all], says: 'complete' },
    {
      name: 'that leaves the rule, sends it',
      rules: [all, { id: 'x', effect: 'deny', what: ['read'] }, ask],
      says: 'complete',
    },
  ])('$name', verifies('gateway:approval:again'), async ({ rules, says }) => {
    const house = await openHouse({ more: { policy: { rules: [all, ask] } } });
    const url = `${house.gateway.origin}${paths.single}`;
    const params = { name: 'delete_file', arguments: { path: '/a' } };
    const asked = (await send(url, modern({ method: 'tools/call', params, capabilities: form }))).json();
    house.reload({ policy: { rules } });
    const retry = { ...params, requestState: asked.result.requestState, inputResponses: accepted };
    const answer = await send(url, modern({ method: 'tools/call', params: retry, capabilities: form }));
    // An answer that takes a while comes on a stream.
    const { result, error } = answer.events.at(-1)?.json() ?? answer.json();
    expect(error?.data.reason ?? result.resultType).toBe(says);
    const sent = house.a.of('tools/call').map(({ message }) => Object.keys(message.params).sort());
    expect(sent).toEqual(says === 'complete' ? [['_meta', 'arguments', 'name']] : []);
  });

  it('while the person is asked is seen by a call that waits', verifies('gateway:approval:again'), async () => {
    const house = await openHouse({ era: 'legacy', more: { policy: { rules: [all, ask] } } });
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: { elicitation: {} } });
    const stream = await client.stream(callOf({ path: '/a' }));
    const { id } = await stream.message(({ method }) => method === 'elicitation/create');
    house.reload({ policy: { rules: [all, { id: 'no', effect: 'deny', what: ['call'] }] } });
    await client.post({ jsonrpc: '2.0', id, result: { action: 'accept' } });
    await stream.ended;
    expect(stream.events.at(-1)?.json().error.data).toMatchObject({ reason: 'policy_denied', rules: ['no'] });
    expect(house.a.of('tools/call')).toHaveLength(0);
  });
});

describe('time', () => {
  it(
    'a question without an answer in time is a no, and can be put anew',
    verifies('gateway:approval:silence'),
    async () => {
      const clock = new LeapClock();
      const office = await Office.open({ ports: { clock, timeOfDay: () => clock.now() } });
      const first = (await office.call()).error.data.approval;
      const bob = await office.signIn('bob');
      const [question] = await bob.questions();
      clock.leap(15 * 60_000 + 1);
      expect((await bob.answer(question, 'approve')).status).toBe(404);
      const again = (await office.call()).error.data;
      expect(again.reason).toBe('approval_needed');
      expect(again.approval).not.toBe(first);
      expect(steps(office.records)).toEqual(['asked', 'answered expired', 'asked']);
      expect(office.records[1]).toMatchObject({ principal: { kind: 'gateway' }, reason: 'approval_expired' });
    },
  );

  it('a call that waits while its question ends is told so', verifies('gateway:approval:silence'), async () => {
    const clock = new LeapClock();
    const limits = { approvalMs: '1min', approvalWaitMs: '5min' };
    const office = await Office.open({ limits, ports: { clock, timeOfDay: () => clock.now() } });
    const calling = office.call();
    const bob = await office.signIn('bob');
    while ((await bob.questions()).length === 0);
    clock.leap(61_000);
    expect((await calling).error.data).toMatchObject({ reason: 'approval_expired', approval: expect.any(String) });
    expect(office.backend.of('tools/call')).toHaveLength(0);
  });

  it('an approval that no call has taken ends', verifies('gateway:approval:silence'), async () => {
    const clock = new LeapClock();
    const office = await Office.open({ ports: { clock, timeOfDay: () => clock.now() } });
    await office.call();
    await (await office.signIn('bob')).answerOnly('approve');
    clock.leap(16 * 60_000);
    expect((await office.call()).error.data.reason).toBe('approval_needed');
    expect(steps(office.records)).toEqual(['asked', 'answered approved', 'asked']);
  });

  it('an approval for a time ends with it', verifies('gateway:approval:for'), async () => {
    const clock = new LeapClock();
    const office = await Office.open({ terms: { for: '10min' }, ports: { clock, timeOfDay: () => clock.now() } });
    await office.call();
    await (await office.signIn('bob')).answerOnly('approve');
    for (let n = 0; n < 3; n++) expect((await office.call()).result.content[0].text).toBe('deleted');
    clock.leap(10 * 60_000 + 1);
    expect((await office.call()).error.data.reason).toBe('approval_needed');
    expect(office.backend.of('tools/call')).toHaveLength(3);
  });
});

it('without the store nothing that needs an approval is sent', verifies('gateway:approval:once'), async () => {
  class AwayRecords extends MemoryRecords {
    isAway = false;
    override async get(...place: Parameters<MemoryRecords['get']>): Promise<string | undefined> {
      if (this.isAway) throw new StoreError('away', 'the store is away');
      return super.get(...place);
    }
  }
  const records = new AwayRecords(Date.now);
  const office = await Office.open({ ports: { records } });
  await office.call();
  await (await office.signIn('bob')).answerOnly('approve');
  records.isAway = true;
  expect((await office.call()).error.data.reason).toBe('approval_unavailable');
  expect(office.backend.of('tools/call')).toHaveLength(0);
  records.isAway = false;
  expect((await office.call()).result.content[0].text).toBe('deleted');
});

describe('the rounds of an approved call', () => {
  const rounds = {
    'tools/call': (turn: Json) => {
      const { requestState } = turn.message.params;
      if (requestState === 'second') turn.result({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] });
      else
        turn.result({
          resultType: 'input_required',
          inputRequests: { name: { method: 'elicitation/create', params: question } },
          requestState: 'second',
        });
    },
  };

  it('of a modern client belong to it, each once', verifies('gateway:approval:once'), async () => {
    const office = await Office.open({ terms: { by: 'caller' }, script: rounds });
    const asked = (await office.call({}, {}, form)).result;
    const first = (await office.call({}, { requestState: asked.requestState, inputResponses: accepted }, form)).result;
    expect(first.inputRequests).toHaveProperty('name');
    const answer = { requestState: first.requestState, inputResponses: { name: { action: 'accept', content: {} } } };
    expect((await office.call({}, answer, form)).result.content[0].text).toBe('done');
    // The backend would take its state again; the approval is used.
    const replayed = (await office.call({}, answer, form)).result;
    expect(replayed.inputRequests).toHaveProperty('approval');
    expect(office.backend.of('tools/call')).toHaveLength(2);
  });

  it(
    'of a modern client belong to it, also where the backend gives no state',
    verifies('gateway:approval:once'),
    async () => {
      const stateless = {
        'tools/call': (turn: Json) => {
          if (turn.message.params.inputResponses !== undefined)
            turn.result({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] });
          else
            turn.result({
              resultType: 'input_required',
              inputRequests: { name: { method: 'elicitation/create', params: question } },
            });
        },
      };
      const office = await Office.open({ terms: { by: 'caller' }, script: stateless });
      const asked = (await office.call({}, {}, form)).result;
      const first = (await office.call({}, { requestState: asked.requestState, inputResponses: accepted }, form))
        .result;
      const { requestState } = first;
      const answer = {
        ...(requestState && { requestState }),
        inputResponses: { name: { action: 'accept', content: {} } },
      };
      expect((await office.call({}, answer, form)).result.content?.[0].text).toBe('done');
      expect((await office.call({}, answer, form)).result.inputRequests).toHaveProperty('approval');
      expect(office.backend.of('tools/call')).toHaveLength(2);
    },
  );

  it('of a legacy client are asked about once', verifies('gateway:approval:once'), async () => {
    const house = await openHouse({ more: { policy: asking({ by: 'caller' }) }, script: rounds });
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: { elicitation: {} } });
    const stream = await client.stream(callOf({}));
    const isAsked = (message: string) => (one: Json) => one.params?.message?.startsWith(message) === true;
    const first = await stream.message(isAsked('Allow'));
    await client.post({ jsonrpc: '2.0', id: first.id, result: { action: 'accept' } });
    const second = await stream.message(isAsked('Who?'));
    await client.post({ jsonrpc: '2.0', id: second.id, result: { action: 'accept', content: {} } });
    await stream.ended;
    expect(stream.events.at(-1)?.json().result.content[0].text).toBe('done');
  });

  it('at a legacy backend, which asks during its call, belong to it', verifies('gateway:approval:once'), async () => {
    const backend = await AskingBackend.start('http');
    const policy = asking({ by: 'caller', on: { tools: ['*greet*'] } });
    const office = await Office.open({ policy, more: { backends: { b: backend.config } } });
    const greet = (more: object) => office.call({}, { name: 'greet', ...more }, form);
    const asked = (await greet({})).result;
    const first = (await greet({ requestState: asked.requestState, inputResponses: accepted })).result;
    const [key = ''] = Object.keys(first.inputRequests);
    const answer = { [key]: { action: 'accept', content: { name: 'Ada' } } };
    const done = await greet({ requestState: first.requestState, inputResponses: answer });
    expect(done.result.resultType).toBe('complete');
    expect(backend.calls).toHaveLength(1);
  });
});

const question = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const accepted = { approval: { action: 'accept' } };

function callOf(args: object): object {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete_file', arguments: args } };
}
