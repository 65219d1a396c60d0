/**
 * Replicas of two versions side by side, as during a rolling upgrade. `BASCULE_BEFORE` names the revision of the older
 * ones; without it there is nothing to compare with.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { type Started, startGateway } from '../conformance/processes.ts';
import { call, echo } from '../interaction/harness/behind.ts';
import { connectLegacy, LegacyClient } from '../interaction/harness/eras.ts';
import { legacyBackend } from '../interaction/harness/http-backend.ts';
import { verifies } from '../requirements/verifies.ts';
import { build } from '../transcripts/build.ts';
import { KEY, LEASE_MS } from './replicas.ts';
import { eventually, startRedis } from './server.ts';

const before = process.env.BASCULE_BEFORE;
const SESSIONS = 4;

it.runIf(before !== undefined)(
  'sessions of either version are served or refused by name at both, and go on when the older one has left',
  { ...verifies('gateway:replicas:members'), timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-versions-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const backend = await legacyBackend(echo);
    const config = {
      backends: { b: { url: backend.url } },
      seal: { key: KEY },
      store: { url: redis.url },
      replicas: { listen: '127.0.0.1:0' },
      limits: { replicaLeaseMs: LEASE_MS, replicaLeaveMs: 1_000 },
    };
    const start = async (name: string, program: string): Promise<Started> => {
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, JSON.stringify(config));
      const command = [process.execPath, program, 'serve'];
      const started = await startGateway(command, file, join(folder, `${name}.log`), new URL(backend.url));
      onTestFinished(() => started.stop());
      return started;
    };
    const older = await start('older', build(before, join(folder, 'before')).main);
    const newer = await start('newer', inject('executable') ?? '');
    const at = ({ url }: Started) => new URL('/mcp', url).href;
    const clients = await Promise.all(
      [older, newer].flatMap((one) => Array.from({ length: SESSIONS }, () => connectLegacy(at(one)))),
    );
    const tried = (one: Started) =>
      Promise.all(
        clients.map(async ({ session, revision, initialized }) => {
          const answer = await new LegacyClient(at(one), session, revision, initialized).post(call(1, { n: 1 }));
          return answer.status === 200 ? 'served' : (answer.json().error?.data?.reason as string);
        }),
      );
    const sideBySide = [...(await tried(older)), ...(await tried(newer)), ...(await tried(older))];
    console.log(sideBySide.join(' '));
    expect(sideBySide.filter((outcome) => outcome !== 'served' && outcome !== 'owner_unavailable')).toEqual([]);
    await older.stop();
    await eventually('all go on at the newer one', async () =>
      (await tried(newer)).every((outcome) => outcome === 'served'),
    );
  },
);
