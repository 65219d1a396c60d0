/** One audit trail for all workers. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send, until } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { call } from '../policy/setup.ts';
import { replaced, type ServedByWorkers, started, WORKERS, workersOf } from './started.ts';

const script = {
  'tools/call': (turn: { result(value: object): void }) => turn.result({ resultType: 'complete', content: [] }),
};

async function audited(audit: object): Promise<ServedByWorkers> {
  const backend = await modernBackend(script);
  const served = await started({ backends: { b: { url: backend.url } }, audit: { to: 'audit.jsonl', ...audit } });
  return served;
}

const ask = ({ url }: ServedByWorkers, name: string) => send(url('b'), modern(call(name)));

const filesIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name.startsWith('audit'));

/** The oldest file first. Each line is one record. */
function recordsIn(folder: string): readonly Json[] {
  const oldestFirst = [...filesIn(folder)].sort((a, b) => b.localeCompare(a, undefined, { numeric: true }));
  const lines = oldestFirst.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1));
  return lines.map((line) => JSON.parse(line));
}

const namesIn = (folder: string): readonly string[] =>
  recordsIn(folder).flatMap(({ name, action }) => (action === 'call' ? [name] : []));

describe('the audit trail of workers', verifies('gateway:workers:audit'), () => {
  it('is one file, with the records of all', async () => {
    const served = await audited({});
    const names = Array.from({ length: 20 * WORKERS }, (_, n) => `tool-${n}`);
    await Promise.all(names.map((name) => ask(served, name)));
    await until(() => namesIn(served.folder).length === names.length, 'all are recorded');
    expect(new Set(namesIn(served.folder))).toEqual(new Set(names));
    expect(filesIn(served.folder)).toEqual(['audit.jsonl']);
  });

  it('is rotated by one writer: no line is cut or lost', async () => {
    const served = await audited({ maxBytes: 4_096, keep: 50 });
    const names = Array.from({ length: 20 * WORKERS }, (_, n) => `tool-${n}`);
    for (const name of names) await ask(served, name);
    served.program.kill('SIGTERM');
    await served.program.end();
    expect(new Set(namesIn(served.folder))).toEqual(new Set(names));
    expect(filesIn(served.folder).length).toBeGreaterThan(2);
  });

  it('keeps what a worker has handed over before it is killed', async () => {
    const served = await audited({});
    for (let n = 0; n < WORKERS; n++) await ask(served, `before-${n}`);
    await until(() => namesIn(served.folder).length === WORKERS, 'all are recorded');
    for (const pid of workersOf(served)) await replaced(served, pid);
    for (let n = 0; n < WORKERS; n++) await ask(served, `after-${n}`);
    await until(() => namesIn(served.folder).length === 2 * WORKERS, 'all are recorded');
  });

  it('with `onFailure: deny`, no worker lets a call through that cannot be recorded', async () => {
    const backend = await modernBackend(script);
    const place = 'trail';
    const served = await started({
      backends: { b: { url: backend.url } },
      audit: { to: `${place}/audit.jsonl`, onFailure: 'deny' },
    });
    for (let n = 0; n < 2 * WORKERS; n++) {
      const refused = await ask(served, 'x');
      expect(refused.json()).toMatchObject({ error: { data: { reason: 'audit_unavailable' } } });
    }
    expect(backend.of('tools/call')).toEqual([]);
    mkdirSync(join(served.folder, place));
    let allowed = 0;
    // One after the other they learn of it: each writes the record of a refused call.
    while (allowed < WORKERS) allowed = (await ask(served, 'x')).status === 200 ? allowed + 1 : 0;
    rmdirSync(join(served.folder, place), { recursive: true });
  });

  it('on stdout has whole lines', async () => {
    const served = await audited({ to: 'stdout' });
    const many = Array.from({ length: 50 * WORKERS }, (_, n) => `tool-${n}-${'x'.repeat(200)}`);
    await Promise.all(many.map((name) => ask(served, name)));
    const lines = () => served.program.stdout.split('\n').filter((line) => line.includes('"decision"'));
    await until(() => lines().length === many.length, 'all are recorded');
    expect(new Set(lines().map((line) => JSON.parse(line).name))).toEqual(new Set(many));
  });
});
