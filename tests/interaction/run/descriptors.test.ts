/** The process has few file descriptors, and clients want all of them. */
import { describe, expect, it } from 'vitest';
import { outOfDescriptors } from '../../../src/upstream/descriptors.ts';
import { failureOfError } from '../../../src/upstream/http/verdict.ts';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Call, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';

/** Connections beyond the few that are kept for probes are dropped: such a client comes again. */
async function statusOf(url: string, call: Call): Promise<number> {
  let status = 0;
  for (let tries = 0; tries < 500 && status === 0; tries += 1) {
    status = await send(url, call).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return status;
}

it(
  'clients that use up all connections get 503, while health paths answer and backends are reached',
  verifies('gateway:run:descriptors-reserved'),
  async () => {
    const backend = await modernBackend({
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }),
    });
    // Whoever sends nothing stays for as long as the test.
    const config = { backends: { one: { url: backend.url } }, limits: { headersMs: 60_000 } };
    const { origin, url } = await serve([], { ...configFile(config), openFiles: 128 });
    const port = Number(new URL(origin).port);
    const first = new RawClient(port);
    first.send(head('GET', '/healthz'));
    await first.until('"status":"ok"');
    // More than there are descriptors for, and none of them sends a request.
    const idle = Array.from({ length: 200 }, () => new RawClient(port));
    expect(await statusOf(`${origin}/healthz`, { method: 'GET' })).toBe(200);
    expect(await statusOf(url('one'), { method: 'GET' })).toBe(503);
    expect(idle).toHaveLength(200);
    // The first connection is one of those within the limit: it is served, by a backend that has to be reached.
    const { headers, body } = modern({ id: 'l', method: 'tools/list' });
    const bytes = JSON.stringify(body);
    const lines = { ...headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const path = new URL(url('one')).pathname;
    first.send(`${head('POST', path, { ...lines, 'Content-Length': Buffer.byteLength(bytes) })}${bytes}`);
    await first.until('"tools":[]');
  },
);

describe('a descriptor that is lacking', verifies('gateway:run:descriptors-named'), () => {
  it('has a name of its own, is logged once, and is counted', async () => {
    const gateway = await startGateway({ backends: {} });
    const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
    for (let at = 0; at < 5; at += 1) expect(failureOfError(cause).reason).toBe('out_of_descriptors');
    const full = Object.assign(new Error('spawn ENFILE'), { code: 'ENFILE' });
    expect(outOfDescriptors(full, 'process')?.reason).toBe('out_of_descriptors');
    expect([failureOfError(cause).cure, outOfDescriptors(full, 'process')?.cure]).toEqual([
      expect.stringContaining('`ulimit -n`'),
      expect.stringContaining('`fs.file-max`'),
    ]);
    expect(outOfDescriptors(new Error('other'), 'process')).toBeUndefined();
    const lines = gateway.log.filter(({ text }) => text.startsWith('out of file descriptors'));
    expect(lines.map(({ level, facts }) => `${level} ${facts.wanted}`)).toEqual(['error connection', 'error process']);
    expect(gateway.counters.snapshot()).toMatchObject({
      'gateway.out_of_descriptors.connection': 6,
      'gateway.out_of_descriptors.process': 2,
    });
    expect((await send(`${gateway.origin}/healthz`, { method: 'GET' })).status).toBe(200);
  });
});
