/** How a stdio backend is ended: stdin closed, SIGTERM, SIGKILL, and whatever it started with it. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import { call, request } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, eras, type LegacyClient, modern } from '../harness/eras.ts';
import type { TestGateway } from '../harness/gateway.ts';
import {
  type BackendProcess,
  legacyProcess,
  type Manner,
  modernProcess,
  type StdioBackend,
  type StdioTurn,
} from '../harness/stdio-backend.ts';
import { startBeforeProcess } from './setup.ts';

const childStopMs = 60_000;

async function isGone(process: BackendProcess): Promise<void> {
  await until(() => process.gone && !isRunning(process.pid), `process ${process.pid} is gone`);
}

interface Started {
  readonly backend: StdioBackend;
  readonly gateway: TestGateway;
  readonly clock: LeapClock;
  readonly client: LegacyClient;
  readonly process: BackendProcess;
}

async function start(manners: readonly Manner[]): Promise<Started> {
  const clock = new LeapClock();
  const backend = await legacyProcess({ 'tools/call': (turn) => turn.process.exit(1) }, { manners });
  const gateway = await startBeforeProcess(backend, { limits: { childStopMs }, ports: { clock } });
  // Those that stay are told to go, and no time is waited for that nobody makes pass.
  onTestFinished(async () => {
    for (const one of backend.processes) one.exit(0);
    let closed = false;
    void gateway.close().then(() => {
      closed = true;
    });
    await until(() => {
      clock.leap(childStopMs);
      return closed;
    }, 'the gateway is closed');
  });
  const client = await connectLegacy(gateway.url('b'));
  // The first was started by the probe, and serves lists.
  const { process } = await own(client, backend, 2);
  return { backend, gateway, clock, client, process };
}

/** A session has a process from the first request that is not a list. */
async function own(client: LegacyClient, backend: StdioBackend, nth: number): Promise<StdioTurn> {
  await client.post(request('first', 'prompts/get', { name: 'p' }));
  return backend.arrival('notifications/initialized', nth);
}

/** Time enough for a process to start and to answer: what was to happen at once has happened. */
async function aWhile({ gateway, backend }: Started): Promise<void> {
  await own(await connectLegacy(gateway.url('b')), backend, 3);
}

describe('a process that ends when its stdin closes', () => {
  it('is not signalled', verifies('transport:stdio:clean-shutdown', 'gateway:backend:shutdown-order'), async () => {
    const started = await start(['stays']);
    const { client, process } = started;
    expect((await client.end()).status).toBe(204);
    await until(() => process.told.length > 0, 'it was told something');
    await aWhile(started);
    // It has something to finish, and goes when that is done.
    process.exit(0);
    await isGone(process);
    expect(process.told).toEqual(['end']);
  });

  it.each(eras)(
    'is not signalled when the gateway stops, %s',
    verifies('transport:stdio:clean-shutdown'),
    async (era) => {
      const backend = await (era === 'legacy' ? legacyProcess() : modernProcess());
      const gateway = await startBeforeProcess(backend, { limits: { childStopMs } });
      if (era === 'legacy') await connectLegacy(gateway.url('b'));
      else await send(gateway.url('b'), modern({ method: 'server/discover' }));
      await gateway.close();
      // Closing waits for them: none is left.
      for (const { pid } of backend.processes) expect(isRunning(pid)).toBe(false);
      await until(() => backend.processes.every((process) => process.gone), 'what they told has arrived');
      expect(backend.processes.map(({ told }) => told)).toEqual(backend.processes.map(() => ['end']));
    },
  );
});

describe('a process that does not exit', () => {
  it(
    'is sent SIGTERM after its time',
    verifies('transport:stdio:shutdown-escalation', 'gateway:backend:shutdown-order'),
    async () => {
      const started = await start(['stays']);
      const { client, process, clock } = started;
      await client.end();
      await until(() => process.told.length > 0, 'it was told something');
      await aWhile(started);
      expect(process.told).toEqual(['end']);
      clock.leap(childStopMs);
      await isGone(process);
      expect(process.told).toEqual(['end', 'SIGTERM']);
    },
  );

  it(
    'and ignores SIGTERM is killed after another time',
    verifies('transport:stdio:shutdown-escalation', 'gateway:backend:shutdown-order'),
    async () => {
      const started = await start(['stays', 'ignores-sigterm']);
      const { client, process, clock } = started;
      await client.end();
      await until(() => process.told.length === 1, 'its stdin was closed');
      clock.leap(childStopMs);
      await until(() => process.told.length === 2, 'it was sent SIGTERM');
      await aWhile(started);
      expect(process.told).toEqual(['end', 'SIGTERM']);
      expect(isRunning(process.pid)).toBe(true);
      clock.leap(childStopMs);
      await isGone(process);
    },
  );
});

describe('the children of a process', () => {
  const alsoGone = async ({ process, clock }: Started) => {
    const { childPid } = process;
    if (childPid === undefined) throw new Error('it started nothing');
    expect(isRunning(childPid)).toBe(true);
    return async () => {
      // What is left is looked for again and again, until the time is over.
      await until(() => {
        clock.leap(childStopMs);
        return !isRunning(childPid);
      }, `its child ${childPid} is gone`);
    };
  };

  it.each([
    { name: 'obeys', manners: [] },
    { name: 'stays', manners: ['stays'] },
    { name: 'ignores SIGTERM', manners: ['stays', 'ignores-sigterm'] },
  ] as const)(
    'ends with it where it $name',
    verifies('gateway:backend:process-group', 'transport:stdio:shutdown-escalation'),
    async ({ manners }) => {
      const started = await start([...manners, 'has-child']);
      const childGone = await alsoGone(started);
      await started.client.end();
      await until(() => started.process.told.length > 0, 'it was told to end');
      await childGone();
      await isGone(started.process);
    },
  );

  it('end with it when it exits by itself', verifies('gateway:backend:process-group'), async () => {
    const started = await start(['has-child']);
    const childGone = await alsoGone(started);
    await started.client.post(call(1));
    await isGone(started.process);
    await childGone();
    expect(started.process.told).toEqual([]);
  });
});
