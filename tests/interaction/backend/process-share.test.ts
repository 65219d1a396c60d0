/** Several principals that want processes of one stdio backend: none of them can take all for good. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, expectRefused, result, sessionNotFound, text } from '../harness/behind.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { answered } from './setup.ts';

it(
  'the principal with most processes loses its longest idle one, and no other principal loses any',
  verifies('gateway:backend:process-share'),
  async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess({ 'tools/call': (turn) => turn.result(text(String(turn.process.pid))) });
    const { command, args } = backend;
    const ring = keyRing();
    const keys = ['alice', 'bob', 'carol'].map((name) => bearer(ring.make(name)));
    const gateway = await startGateway(
      { backends: { b: { command, args, maxProcesses: 3 } }, identity: { keys: { file: ring.path } } },
      { clock },
    );
    const url = gateway.url('b');
    const [alice = {}, bob = {}, carol = {}] = keys;
    const open = async (credentials: typeof alice) => {
      const client = await connectLegacy(url, {}, credentials);
      const pid = answered(await client.post(call('first'))).result.content[0].text;
      return { client, pid };
    };
    const bobs = await open(bob);
    const first = await open(alice);
    clock.leap(1_000);
    const second = await open(alice);
    clock.leap(120_000);
    const carols = await open(carol);
    expectRefused(await first.client.post(call(1)), 404, { ...sessionNotFound, id: 1 });
    for (const { client, pid } of [bobs, second, carols])
      expect((await client.post(call(2))).json()).toEqual(result(2, text(pid)));
    expect(backend.processes.filter(({ gone }) => !gone)).toHaveLength(3);
  },
);
