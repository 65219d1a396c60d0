/** Approvals at three replicas: asked at one, answered at any, taken once. */
import { expect, it } from 'vitest';
import { asking } from '../interaction/approvals/setup.ts';
import { type Json, send } from '../interaction/harness/client.ts';
import { modern } from '../interaction/harness/eras.ts';
import { modernBackend } from '../interaction/harness/http-backend.ts';
import { verifies } from '../requirements/verifies.ts';
import { REPLICAS, startReplicas } from './replicas.ts';

const capabilities = { elicitation: { form: {} } };

it('an answer that is replayed at all replicas at once sends one call', verifies('gateway:approval:once'), async () => {
  const backend = await modernBackend({
    'tools/call': (turn) => turn.result({ resultType: 'complete', content: [] }),
  });
  const { url } = await startReplicas({
    backends: { b: { url: backend.url } },
    policy: asking({ by: 'caller' }),
  });
  const call = async (more: object = {}): Promise<Json> => {
    const params = { name: 'delete', arguments: { path: '/a' }, ...more };
    return (await send(url, modern({ method: 'tools/call', params, capabilities }))).json();
  };
  for (let round = 1; round <= 3; round++) {
    const { requestState } = (await call()).result;
    const retry = { requestState, inputResponses: { approval: { action: 'accept' } } };
    const answers = await Promise.all(Array.from({ length: 4 * REPLICAS }, () => call(retry)));
    expect(answers.filter(({ result }) => result.resultType === 'complete')).toHaveLength(1);
    expect(backend.of('tools/call')).toHaveLength(round);
  }
});
