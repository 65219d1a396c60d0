/** Upstream sessions of clients that have none: shared where they can be, and bounded whatever the clients declare. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend } from '../harness/http-backend.ts';

const answers = { 'tools/call': (turn: { result(result: object): void }) => turn.result({ content: [] }) };
const call = (capabilities: object) => modern({ method: 'tools/call', params: { name: 'x' }, capabilities });

describe('sessions that modern clients share', verifies('gateway:backend:own-session'), () => {
  it('are one for calls that begin together, also while it is being opened', async () => {
    const backend = await legacyBackend(answers);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const sent = await Promise.all(Array.from({ length: 50 }, () => send(gateway.url('b'), call({ elicitation: {} }))));
    expect(sent.map((answer) => answer.json().result?.resultType)).toEqual(sent.map(() => 'complete'));
    // One was the probe's.
    expect(backend.of('initialize')).toHaveLength(2);
  });

  it('are bounded for a client that declares something else each time: the longest idle one makes room', async () => {
    const backend = await legacyBackend(answers);
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: { pooledPerPrincipal: 4 } });
    for (let n = 0; n < 20; n++) {
      const answer = await send(gateway.url('b'), call({ experimental: { [`x${n}`]: {} } }));
      expect(answer.json().result.resultType).toBe('complete');
    }
    const ended = backend.received.filter(({ http }) => http === 'DELETE').length;
    expect(backend.of('initialize').length - ended).toBeLessThanOrEqual(4 + 1);
  });
});
