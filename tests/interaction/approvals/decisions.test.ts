/** A decision point that answers `approval`: a person is asked as the config of the point says. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { answerOf, type Kind, kinds, openDecided } from '../decisions/setup.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { json, type Serve, type Visit } from '../json-rpc/setup.ts';
import { type House, paths } from '../policy/setup.ts';
import { steps } from './setup.ts';

/** The denial of each protocol, with the word that a person may be asked. */
function askFirst(kind: Kind, visit: Visit): object {
  const denial = answerOf(kind, visit, false);
  if (kind === 'authzen') return { ...denial, context: { approval: true } };
  if (kind === 'opa') return { result: { allow: false, approval: true } };
  return { ...denial, approval: true };
}

const asking =
  (kind: Kind): Serve =>
  (visit) =>
    json(visit.response, askFirst(kind, visit));

describe.each(kinds)('%s', (kind) => {
  it(
    'has the caller asked, and is asked again before the call',
    verifies('gateway:approval:decision-point'),
    async () => {
      const house = await openDecided(kind, asking(kind), { point: { approval: { by: 'caller' }, lists: false } });
      const asked = await call(house);
      expect(asked.result.resultType).toBe('input_required');
      expect(house.bytes).toBe(0);
      const retry = { requestState: asked.result.requestState, inputResponses: { approval: { action: 'accept' } } };
      expect((await call(house, retry)).result.resultType).toBe('complete');
      expect(house.point.visits).toHaveLength(2);
      expect(steps(house.records)).toEqual(['asked', 'answered approved', 'executed', 'outcome']);
      expect(house.records[0]).toMatchObject({ decisions: [{ point: 'pdp', effect: 'approval' }] });
    },
  );

  it('that denies after the answer, denies', verifies('gateway:approval:decision-point'), async () => {
    const house = await openDecided(kind, asking(kind), { point: { approval: { by: 'caller' }, lists: false } });
    const asked = await call(house);
    house.point.serve = (visit) => json(visit.response, answerOf(kind, visit, false));
    const retry = { requestState: asked.result.requestState, inputResponses: { approval: { action: 'accept' } } };
    expect((await call(house, retry)).error.data.reason).toBe('policy_denied');
    expect(house.bytes).toBe(0);
  });

  it('denies where the config does not say who approves', verifies('gateway:approval:decision-point'), async () => {
    const house = await openDecided(kind, asking(kind), { point: { lists: false } });
    expect((await call(house)).error.data).toMatchObject({ reason: 'policy_denied', decisionPoint: 'pdp' });
  });

  it('in audit mode only says that it would have asked', verifies('gateway:approval:audit'), async () => {
    const point = { approval: { by: 'caller' }, lists: false, mode: 'audit' };
    const policy = { rules: [{ id: 'all', effect: 'allow' }] };
    const house = await openDecided(kind, asking(kind), { point, policy });
    expect((await call(house)).result.resultType).toBe('complete');
    expect(house.records.at(-1)).toMatchObject({ decision: 'allow', wouldAsk: ['pdp'] });
  });
});

async function call({ gateway }: House, more: object = {}) {
  const params = { name: 'delete_file', arguments: {}, ...more };
  const capabilities = { elicitation: { form: {} } };
  return (
    await send(`${gateway.origin}${paths.single}`, modern({ method: 'tools/call', params, capabilities }))
  ).json();
}
