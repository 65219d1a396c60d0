/** A cluster that loses a node: the others go on, and what needs the node fails by name. */
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../requirements/verifies.ts';
import { eventually, startCluster } from './server.ts';
import { openTestStore } from './store.ts';

it(
  'records of other nodes are there while a node of the cluster is away, and its own afterwards',
  verifies('gateway:store:redis-degraded'),
  async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.close()));
    });
    // A cluster that lacks slots serves the others.
    for (const node of nodes) await node.cli('config', 'set', 'cluster-require-full-coverage', 'no');
    const [first, second, third] = nodes.map(({ url }) => url);
    const store = await openTestStore({ settings: { url: first!, cluster: [second!, third!], commandMs: 500 } });
    const collections = Array.from({ length: 30 }, (_, n) => `collection-${n}`);
    const outcomes = () =>
      Promise.all(
        collections.map((name) =>
          store.records.put(name, 'k', name).then(
            () => 'stored',
            (error: { kind?: string }) => error.kind ?? 'without a name',
          ),
        ),
      );
    expect(new Set(await outcomes())).toEqual(new Set(['stored']));
    await nodes[0]!.kill();
    await eventually('the rest is served', async () => (await outcomes()).filter((it) => it === 'stored').length > 5);
    const named = (await outcomes()).filter((it) => it !== 'stored');
    expect(named.length).toBeGreaterThan(0);
    expect(['away', 'slow']).toEqual(expect.arrayContaining([...new Set(named)]));
    await nodes[0]!.start();
    await eventually('all is served', async () => (await outcomes()).every((it) => it === 'stored'));
  },
);
