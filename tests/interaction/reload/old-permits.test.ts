/** A call that one config allowed never runs at a backend that a later config has put under the same name. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Held } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { agreed, legacyBackend, type Turn } from '../harness/http-backend.ts';

const call = (id: number) =>
  modern({
    id,
    method: 'tools/call',
    params: { name: 'delete_all', arguments: {} },
    capabilities: { elicitation: {} },
  });
const nobody = { rules: [{ id: 'none', effect: 'deny', on: { tools: ['delete_all'] } }] };
const open = (turn: Turn) => turn.result(agreed(turn.message));

describe('a call that waits while a reload replaces its backend', verifies('gateway:reload:policy'), () => {
  it.each([
    { now: 'denied', policy: { policy: nobody } },
    { now: 'still allowed', policy: {} },
  ])('does not reach the new backend where it is $now', async ({ policy }) => {
    const held = new Held();
    const first = await legacyBackend({ initialize: held.take });
    const second = await legacyBackend();
    const gateway = await startGateway({ backends: { b: { url: first.url } } });
    const opening = send(gateway.url(), call(1));
    open(await held.nth(1));
    const session = await held.nth(2);
    // It may be asked something, as the first one may: it waits until it is known whether they can share a session.
    const waiting = send(gateway.url(), call(2));
    await send(gateway.url(), modern({ id: 3, method: 'server/discover' }));
    gateway.reload({ backends: { b: { url: second.url } }, ...policy });
    open(session);
    await opening;
    expect((await waiting).json().error.data.reason).toBe('backend_unavailable');
    expect(second.of('tools/call')).toEqual([]);
  });
});
