/** `effect: approval`, `by: caller`: the person at the client is asked, in the words of the client's era. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { type House, openHouse, paths } from '../policy/setup.ts';
import { asking, steps } from './setup.ts';

const caller = { policy: asking({ by: 'caller' }) };
const name = 'delete_file';
/** A number that no double has: it stays as it is spelled. */
const written = '{"path":"/a","size":9007199254740993,"password":"hush"}';

describe('a modern client', () => {
  it('is asked by input_required, and its acceptance sends the call', verifies('gateway:approval:caller'), async () => {
    const house = await openHouse({ more: caller });
    const asked = await callModern(house);
    expect(asked.result).toMatchObject({ resultType: 'input_required' });
    const { method, params: form } = asked.result.inputRequests.approval;
    expect(method).toBe('elicitation/create');
    expect(form.message).toContain('"size": 9007199254740993');
    expect(form.message).not.toContain('hush');
    expect(house.bytes).toBe(0);
    const done = await callModern(house, answered(asked, 'accept'));
    expect(done.result.content).toEqual([{ type: 'text', text: 'delete_file' }]);
    expect(steps(house.records)).toEqual(['asked', 'answered approved', 'executed', 'outcome']);
    const [sent] = house.a.of('tools/call');
    expect(Object.keys(sent?.message.params).sort()).toEqual(['_meta', 'arguments', 'name']);
    expect(sent?.text).toContain(written);
  });

  it('that declines gets approval_denied, and nothing is sent', verifies('gateway:approval:caller'), async () => {
    const house = await openHouse({ more: caller });
    const asked = await callModern(house);
    const refused = await callModern(house, answered(asked, 'decline'));
    expect(refused.error).toMatchObject({ code: 403, data: { reason: 'approval_denied' } });
    expect(steps(house.records)).toEqual(['asked', 'answered denied']);
    expect(house.bytes).toBe(0);
  });

  it('that replays its answer is asked anew', verifies('gateway:approval:once'), async () => {
    const house = await openHouse({ more: caller });
    const asked = await callModern(house);
    await callModern(house, answered(asked, 'accept'));
    house.forget();
    const replayed = await callModern(house, answered(asked, 'accept'));
    expect(replayed.result.resultType).toBe('input_required');
    expect(house.bytes).toBe(0);
  });

  it('that changes a number in its retry is asked about the new call', verifies('gateway:approval:exact'), async () => {
    const house = await openHouse({ more: caller });
    const asked = await callModern(house);
    const changed = written.replace('993', '992');
    const again = await callModern(house, answered(asked, 'accept'), changed);
    expect(again.result.resultType).toBe('input_required');
    expect(house.bytes).toBe(0);
  });
});

describe('a legacy client', () => {
  it('is asked by an elicitation, and its acceptance sends the call', verifies('gateway:approval:caller'), async () => {
    const house = await openHouse({ era: 'legacy', more: caller });
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: { elicitation: {} } });
    const { asked, done } = await callLegacy(client, 'accept', () => house.a.of('tools/call').length);
    expect(asked.params.message).toContain('Allow tools/call "delete_file" of the backend "a" once?');
    expect(asked.calls).toBe(0);
    expect(done.result.content).toEqual([{ type: 'text', text: 'delete_file' }]);
    expect(steps(house.records)).toEqual(['asked', 'answered approved', 'executed', 'outcome']);
  });

  it('that cancels the question gets approval_denied', verifies('gateway:approval:caller'), async () => {
    const house = await openHouse({ era: 'legacy', more: caller });
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: { elicitation: {} } });
    const { done } = await callLegacy(client, 'cancel', () => house.a.of('tools/call').length);
    expect(done.error).toMatchObject({ code: 403, data: { reason: 'approval_denied' } });
    expect(house.a.of('tools/call')).toHaveLength(0);
  });
});

describe('terms', () => {
  it('an approval for a time covers the same call and no other', verifies('gateway:approval:for'), async () => {
    const house = await openHouse({ more: { policy: asking({ by: 'caller', for: '10min' }) } });
    await callModern(house, answered(await callModern(house), 'accept'));
    expect((await callModern(house)).result.resultType).toBe('complete');
    const other = await callModern(house, {}, '{"path":"/b"}');
    expect(other.result.resultType).toBe('input_required');
    expect(house.a.of('tools/call')).toHaveLength(2);
  });

  it(
    'in audit mode the call is sent, and the record says who would have asked',
    verifies('gateway:approval:audit'),
    async () => {
      for (const policy of [{ ...asking({ by: 'caller' }), mode: 'audit' }, asking({ by: 'caller', mode: 'audit' })]) {
        const house = await openHouse({ more: { policy } });
        expect((await callModern(house)).result.resultType).toBe('complete');
        expect(house.records.at(-1)).toMatchObject({ decision: 'allow', wouldAsk: ['ask'] });
      }
    },
  );

  it('a client that cannot ask, where there is no page, is told so', verifies('gateway:approval:page'), async () => {
    const house = await openHouse({ more: caller });
    const call = modern({ method: 'tools/call', params: { name, arguments: {} } });
    const { error } = (await send(`${house.gateway.origin}${paths.single}`, call)).json();
    expect(error).toMatchObject({ code: 403, data: { reason: 'approval_needed', rules: ['ask'] } });
    expect(error.message).toContain('elicitation');
    expect(house.bytes).toBe(0);
  });
});

async function callModern(house: House, more: object = {}, args = written): Promise<Json> {
  const call = modern({
    method: 'tools/call',
    params: { name, arguments: 'HERE', ...more },
    capabilities: { elicitation: { form: {} } },
  });
  const body = JSON.stringify(call.body).replace('"HERE"', args);
  const headers = { ...call.headers, 'content-type': 'application/json' };
  return (await send(`${house.gateway.origin}${paths.single}`, { headers, body })).json();
}

function answered({ result }: Json, action: string): object {
  return { requestState: result.requestState, inputResponses: { approval: { action } } };
}

async function callLegacy(client: LegacyClient, action: string, calls: () => number) {
  const stream = await client.stream({
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name, arguments: { path: '/a' } },
  });
  const question = await stream.message((message) => message.method === 'elicitation/create');
  const asked = { ...question, calls: calls() };
  await client.post({ jsonrpc: '2.0', id: question.id, result: { action } });
  await stream.ended;
  return { asked, done: stream.events.at(-1)?.json() };
}
