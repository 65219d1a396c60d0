/** Processes of stdio backends: started for whom, ended how, and started again when. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import { call, expectRefused, refusal, result, sessionNotFound, text } from '../harness/behind.ts';
import { type Answer, type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { type BackendProcess, legacyProcess, modernProcess, type StdioBackend } from '../harness/stdio-backend.ts';
import { answered, busy, ended, startBeforeProcess } from './setup.ts';

const params = { name: 'work', arguments: {} };
const byProcess = {
  'tools/call': (turn: { process: BackendProcess; result(result: object): void }) =>
    turn.result(text(String(turn.process.pid))),
};

/** The nth process (from 1) that was started for a call: that of the probe serves lists. */
async function serving(backend: StdioBackend, nth: number): Promise<BackendProcess> {
  return (await backend.arrival('notifications/initialized', nth + 1)).process;
}

async function gone(process: BackendProcess): Promise<void> {
  await until(() => process.gone && !isRunning(process.pid), `process ${process.pid} is gone`);
}

describe('a legacy process', () => {
  it(
    'is one client session’s own',
    verifies('gateway:backend:own-process', 'gateway:backend:connections-reused'),
    async () => {
      const backend = await legacyProcess(byProcess);
      const gateway = await startBeforeProcess(backend);
      const clients = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))];
      const pids = new Set<string>();
      for (const [at, client] of clients.entries()) {
        await client.post(call(0));
        const own = String((await serving(backend, at + 1)).pid);
        pids.add(own);
        for (const n of [1, 2, 3]) expect((await client.post(call(n))).json()).toEqual(result(n, text(own)));
      }
      expect(pids.size).toBe(2);
      // One more found out what the backend is, and serves lists.
      expect(backend.processes).toHaveLength(3);
      // One ends, and takes nothing of the other along.
      await clients[0]?.end();
      await gone(await serving(backend, 1));
      expect((await clients[1]?.post(call(4)))?.json()).toEqual(
        result(4, text(String((await serving(backend, 2)).pid))),
      );
    },
  );

  it(
    'that exits fails its calls in flight without repeating them, and its client starts a new one',
    verifies('gateway:backend:restart', 'gateway:backend:call-never-twice'),
    async () => {
      const backend = await legacyProcess({
        'tools/call': (turn) => (turn.message.params.arguments.die ? turn.process.exit(3) : turn.result(text('alive'))),
      });
      const gateway = await startBeforeProcess(backend, { limits: { restartMinMs: 10 } });
      const client = await connectLegacy(gateway.url('b'));
      expect(answered(await client.post(call(1, { die: true })))).toEqual(refusal({ ...ended, id: 1 }));
      expect(backend.of('tools/call')).toHaveLength(1);
      expectRefused(await client.post(call(2)), 404, { ...sessionNotFound, id: 2 });
      const again = await connectLegacy(gateway.url('b'));
      expect((await again.post(call(3))).json()).toEqual(result(3, text('alive')));
      expect(backend.of('tools/call')).toHaveLength(2);
    },
  );

  it(
    'that one caller crashes repeatedly delays only that caller, by the shortest pause',
    verifies('gateway:backend:restart', 'gateway:backend:crash-is-the-callers'),
    async () => {
      const clock = new LeapClock();
      const backend = await legacyProcess({
        'tools/call': (turn) => (turn.message.params.arguments.die ? turn.process.exit(1) : turn.result(text('alive'))),
      });
      const ring = keyRing();
      const [alice, bob] = [bearer(ring.make('alice')), bearer(ring.make('bob'))];
      const { command, args } = backend;
      const gateway = await startGateway(
        {
          backends: { b: { command, args } },
          identity: { keys: { file: ring.path } },
          limits: { restartMinMs: 4_000, restartMaxMs: 60_000 },
        },
        { clock },
      );
      const url = gateway.url('b');
      /** Whoever is in a pause waits; it is never longer than the shortest one. */
      const passing = async (answer: Promise<Answer>): Promise<Json> => {
        let came: Answer | undefined;
        void answer.then((given) => {
          came = given;
        });
        const began = clock.now();
        await until(() => {
          if (came === undefined && clock.now() - began < 4_000) clock.leap(500);
          return came !== undefined;
        }, 'it is answered after the shortest pause');
        return answered(came as Answer);
      };
      for (let n = 0; n < 6; n++) {
        const client = await connectLegacy(url, {}, alice);
        expect(await passing(client.post(call(n, { die: true })))).toEqual(refusal({ ...ended, id: n }));
        const { length } = backend.processes;
        const other = await connectLegacy(url, {}, bob);
        expect(answered(await other.post(call(n)))).toEqual(result(n, text('alive')));
        expect(backend.processes).toHaveLength(length + 1);
        await other.end();
      }
      expect((await passing((await connectLegacy(url, {}, alice)).post(call(9)))).result).toEqual(text('alive'));
    },
  );

  it('that is idle is ended after the idle time', verifies('gateway:backend:pool-idle'), async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess(byProcess);
    const gateway = await startBeforeProcess(backend, { backend: { idleMs: 60_000 }, ports: { clock } });
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(call(0))).status).toBe(200);
    const process = await serving(backend, 1);
    clock.leap(59_000);
    expect((await client.post(call(1))).status).toBe(200);
    clock.leap(59_000);
    expect((await client.post(call(2))).json()).toEqual(result(2, text(String(process.pid))));
    expect(process.told).toEqual([]);
    clock.leap(61_000);
    await gone(process);
    expect(process.told).toEqual(['end']);
    expectRefused(await client.post(call(3)), 404, { ...sessionNotFound, id: 3 });
  });

  it('with a pending call is not idle', verifies('gateway:backend:pool-idle'), async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess({ 'tools/call': () => undefined });
    const limits = { firstByteMs: 3_600_000, totalMs: 3_600_000 };
    const gateway = await startBeforeProcess(backend, { backend: { idleMs: 60_000 }, limits, ports: { clock } });
    const client = await connectLegacy(gateway.url('b'));
    const running = client.post(call(1));
    const turn = await backend.arrival('tools/call');
    clock.leap(600_000);
    turn.result(text('done'));
    expect(answered(await running)).toEqual(result(1, text('done')));
    expect(turn.process.told).toEqual([]);
  });
});

describe('a pool of processes that is full', verifies('gateway:backend:pool-busy'), () => {
  const limit = { maxProcesses: 1 };
  const queue = 64;

  it('lets a client wait until another one is done', async () => {
    const backend = await legacyProcess(byProcess);
    const gateway = await startBeforeProcess(backend, { backend: limit });
    const [first, second] = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))];
    expect((await first.post(call(0))).status).toBe(200);
    const taken = await serving(backend, 1);
    expect((await first.post(call(1))).json()).toEqual(result(1, text(String(taken.pid))));
    const waiting = second.post(call(2));
    expect(backend.of('initialize')).toHaveLength(2);
    await first.end();
    const { pid } = await serving(backend, 2);
    expect(answered(await waiting)).toEqual(result(2, text(String(pid))));
    expect(isRunning(taken.pid)).toBe(false);
  });

  it('rejects a caller immediately when the queue is full, and after the limit when it waits too long', async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess(byProcess);
    const gateway = await startBeforeProcess(backend, { backend: limit, ports: { clock } });
    const url = gateway.url('b');
    const first = await connectLegacy(url);
    await first.post(call(0));
    const clients = await Promise.all(Array.from({ length: queue + 1 }, () => connectLegacy(url)));
    let settled = 0;
    const waiting = clients.map(async (client) => {
      const answer = await client.post(call(1));
      settled += 1;
      return answer;
    });
    expect(answered(await Promise.race(waiting))).toEqual(refusal({ ...busy, id: 1 }));
    expect(settled).toBe(1);
    // The one who has it is served meanwhile.
    expect((await first.post(call(1))).status).toBe(200);
    clock.leap(10_000);
    for (const answer of await Promise.all(waiting)) {
      expect(answer.status).toBe(200);
      expect(answered(answer)).toEqual(refusal({ ...busy, id: 1 }));
    }
    expect(backend.of('initialize')).toHaveLength(2);
    expect((await first.post(call(2))).status).toBe(200);
  });
});

describe('a modern process', () => {
  it(
    'serves every client',
    verifies('gateway:backend:modern-shared', 'gateway:backend:connections-reused'),
    async () => {
      const backend = await modernProcess({
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
        'tools/call': (turn) => turn.result({ resultType: 'complete', ...text(String(turn.process.pid)) }),
      });
      const gateway = await startBeforeProcess(backend);
      const url = gateway.url('b');
      for (const n of [1, 2]) {
        const answer = await send(url, modern({ id: n, method: 'tools/call', params }));
        expect(answer.json().result.content).toEqual(text(String(backend.processes[0]?.pid)).content);
        const client = await connectLegacy(url);
        expect((await client.post(call(n))).json()).toEqual(result(n, text(String(backend.processes[0]?.pid))));
      }
      // The second one was asked whether it speaks the legacy era, too.
      expect(backend.processes.map(({ received }) => received[0].method)).toEqual(['server/discover', 'initialize']);
    },
  );

  it(
    'that exits fails its calls in flight without repeating them, and the next call uses a new one',
    verifies('gateway:backend:restart', 'gateway:backend:call-never-twice'),
    async () => {
      const backend = await modernProcess({
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
        'tools/call': (turn) => {
          if (turn.message.params.arguments.die) turn.process.exit(3);
          else if (!turn.message.params.arguments.wait) turn.result({ resultType: 'complete', ...text('alive') });
        },
      });
      const gateway = await startBeforeProcess(backend, { limits: { restartMinMs: 10 } });
      const url = gateway.url('b');
      const ask = (id: number, args: object) =>
        send(url, modern({ id, method: 'tools/call', params: { name: 'work', arguments: args } }));
      const client = await connectLegacy(url);
      const waiting = client.post(call(1, { wait: true }));
      await backend.arrival('tools/call', 1);
      expect(answered(await ask(2, { die: true }))).toEqual(refusal({ ...ended, id: 2 }));
      expect(answered(await waiting)).toEqual(refusal({ ...ended, id: 1 }));
      expect(answered(await ask(3, {}))).toMatchObject(result(3, text('alive')));
      // The session of a legacy client is not bound to the process, and goes on.
      expect((await client.post(call(4))).json()).toEqual(result(4, text('alive')));
      expect(backend.of('tools/call')).toHaveLength(4);
      expect(new Set(backend.of('tools/call').map(({ process }) => process.pid)).size).toBe(2);
    },
  );
});
