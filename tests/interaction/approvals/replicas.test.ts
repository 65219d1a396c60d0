/** Two gateways with one store: what is asked at one is answered and taken at any, once. */
import { describe, expect, it } from 'vitest';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { asking } from './setup.ts';

const CALLS = 8;
const form = { elicitation: { form: {} } };

describe('two replicas', () => {
  it('with one answer, replayed at both at once, send one call', verifies('gateway:approval:once'), async () => {
    const { replicas, backend } = await openTwo(asking({ by: 'caller' }));
    const [first] = replicas;
    const asked = await callAt(first, {});
    const retry = { requestState: asked.result.requestState, inputResponses: { approval: { action: 'accept' } } };
    const answers = await Promise.all(
      Array.from({ length: CALLS }, (_, at) => callAt(replicas[at % 2] as TestGateway, retry)),
    );
    const kinds = answers.map(({ result }) => result.resultType).sort();
    expect(kinds).toEqual(['complete', ...Array(CALLS - 1).fill('input_required')]);
    expect(backend.of('tools/call')).toHaveLength(1);
  });

  it('take an approval that holds for a time from each other', verifies('gateway:approval:for'), async () => {
    const { replicas, backend } = await openTwo(asking({ by: 'caller', for: '5min' }));
    const [first, second] = replicas;
    const asked = await callAt(first, {});
    const retry = { requestState: asked.result.requestState, inputResponses: { approval: { action: 'accept' } } };
    expect((await callAt(second, retry)).result.resultType).toBe('complete');
    expect((await callAt(first, {})).result.resultType).toBe('complete');
    expect(backend.of('tools/call')).toHaveLength(2);
  });

  it('that were given other rules do not take each other’s approvals', verifies('gateway:approval:exact'), async () => {
    const { replicas, plan, backend } = await openTwo(asking({ by: 'caller' }));
    const [first, second] = replicas;
    second.reload({ ...plan, policy: asking({ by: 'caller', for: '1min' }) });
    const asked = await callAt(first, {});
    const retry = { requestState: asked.result.requestState, inputResponses: { approval: { action: 'accept' } } };
    expect((await callAt(second, retry)).result.resultType).toBe('input_required');
    expect(backend.of('tools/call')).toHaveLength(0);
    expect((await callAt(first, retry)).result.resultType).toBe('complete');
  });

  it('keep to the end of a question that the other has put', verifies('gateway:approval:silence'), async () => {
    const { replicas, backend, clock } = await openTwo(asking({ by: 'caller' }));
    const [first, second] = replicas;
    const asked = await callAt(first, {});
    clock.leap(15 * 60_000 + 1);
    const retry = { requestState: asked.result.requestState, inputResponses: { approval: { action: 'accept' } } };
    expect((await callAt(second, retry)).result.resultType).toBe('input_required');
    expect(backend.of('tools/call')).toHaveLength(0);
  });
});

async function openTwo(policy: ConfigValue) {
  const backend = await modernBackend({
    'tools/call': (turn) => turn.result({ resultType: 'complete', content: [] }),
  });
  const clock = new LeapClock();
  const timeOfDay = () => clock.now();
  const records = new MemoryRecords(timeOfDay);
  const plan = { backends: { b: { url: backend.url } }, seal: { key: 'a key that both of the replicas have' }, policy };
  const replicas = [
    await startGateway(plan, { records, clock, timeOfDay }),
    await startGateway(plan, { records, clock, timeOfDay }),
  ] as const;
  return { backend, replicas, plan, clock };
}

async function callAt(gateway: TestGateway, more: object) {
  const params = { name: 'delete', arguments: { path: '/a' }, ...more };
  return (await send(gateway.url('b'), modern({ method: 'tools/call', params, capabilities: form }))).json();
}
