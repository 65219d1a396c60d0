/** Workers with a store in Redis: what one of them has stored is there for all, and for the next run. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectRetriedAnywhere } from '../interaction/harness/anywhere.ts';
import { call, Held, log, messagesOf, replay, result, text } from '../interaction/harness/behind.ts';
import { connectLegacy, type LegacyClient } from '../interaction/harness/eras.ts';
import { legacyBackend } from '../interaction/harness/http-backend.ts';
import { AskingBackend } from '../interaction/harness/server-requests.ts';
import { allReady, replaced, started, WORKERS, workersOf } from '../interaction/workers/started.ts';
import { verifies } from '../requirements/verifies.ts';
import { startRedis } from './server.ts';

async function settings(): Promise<{ readonly seal: object; readonly store: object }> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return { seal: { key: 'a key that all workers of the tests have' }, store: { url: redis.url, dir: 'state' } };
}

describe('workers with a store in Redis', verifies('gateway:workers:redis'), () => {
  it('serve a session at each of them, resume its streams, and go on when one is killed', async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const served = await started({
      backends: { b: { url: backend.url } },
      limits: { sseAfterMs: 0 },
      ...(await settings()),
    });
    await allReady(served);
    const clients: LegacyClient[] = [];
    for (let n = 0; n < WORKERS; n++) clients.push(await connectLegacy(served.url()));
    for (const [n, client] of clients.entries()) {
      const stream = await client.stream(call('c'));
      const turn = await held.nth(n + 1);
      turn.stream().event(log('one')).event(log('two'));
      await stream.message(({ params }) => params?.data === 'two');
      stream.close();
      turn.event(result(turn.message.id, text('done'))).end();
      const rest = await replay(client, stream.events.find(({ data }) => data)?.id);
      expect(messagesOf(rest)).toEqual([log('two'), result('c', text('done'))]);
    }
    for (const pid of workersOf(served)) await replaced(served, pid);
    for (const [n, client] of clients.entries()) {
      const again = client.post(call('again'));
      (await held.nth(WORKERS + n + 1)).result(text('again'));
      expect(messagesOf(await again)).toEqual([result('again', text('again'))]);
      expect((await client.end()).status).toBe(204);
    }
    // That it has ended is known to each of them.
    for (const client of clients)
      for (let n = 0; n < WORKERS; n++) expect((await client.post(call(n))).status).toBe(404);
  });

  it('retry a pending call wherever it arrives', async () => {
    const backend = await AskingBackend.start('http');
    const served = await started({ backends: { b: backend.config }, ...(await settings()) });
    await expectRetriedAnywhere(served.url());
  });
});
