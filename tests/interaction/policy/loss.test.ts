/** Records that could not be written are counted and told of; what they are about goes on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { auditSink } from '../../../src/observe/audit-sinks.ts';
import { AuditWriter } from '../../../src/observe/audit-writer.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { call } from './setup.ts';

const script = {
  'tools/call': (turn: { result(value: object): void }) => turn.result({ resultType: 'complete', content: [] }),
};

it('a file that cannot be written costs records, and no call', verifies('gateway:policy:audit'), async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const backend = await modernBackend(script);
  const gateway = await startGateway({
    backends: { b: { url: backend.url } },
    // A folder is no file.
    audit: { to: folder },
  });
  for (const _ of [1, 2]) expect((await send(gateway.url('b'), modern(call('x')))).status).toBe(200);
  await until(() => gateway.counters.snapshot()['audit.lost'] === 2, 'both were counted');
  expect(gateway.log).toContainEqual(
    expect.objectContaining({ level: 'warn', facts: expect.objectContaining({ why: 'failed' }) }),
  );
});

it('a pipe that is not read loses records, and no call', verifies('gateway:policy:audit'), async () => {
  const taken: (() => void)[] = [];
  const stuck = new Writable({ write: (_chunk, _encoding, done) => void taken.push(done) });
  let lost = 0;
  const audit = new AuditWriter({
    sink: auditSink({ kind: 'stderr' }, { stdout: stuck, stderr: stuck }, false),
    now: () => 0,
    after: (_, action) => {
      const timer = setImmediate(action);
      return () => clearImmediate(timer);
    },
    lost: (count) => {
      lost += count;
    },
    queueBytes: 600,
  });
  const backend = await modernBackend(script);
  const gateway = await startGateway({ backends: { b: { url: backend.url } } }, { audit });
  const ask = async () => expect((await send(gateway.url('b'), modern(call('x')))).status).toBe(200);
  await ask();
  await until(() => taken.length === 1, 'the first is on its way');
  for (let n = 0; n < 5; n += 1) await ask();
  expect(lost).toBeGreaterThan(0);
  for (const done of taken) done();
});
