/** A cluster that loses a node: the others go on, and what needs the node fails by name. */
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../requirements/verifies.ts';
import { eventually, startCluster } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

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

const docsPermissions = [
  '-@all',
  '+@connection',
  '+@read',
  '+@write',
  '+@scripting',
  '+@pubsub',
  '-@dangerous',
  '+info',
];

it(
  'a user of a cluster needs no more permissions than docs/scaling.md says',
  verifies('gateway:store:redis-degraded'),
  async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.close()));
    });
    const prefix = newPrefix();
    for (const node of nodes) {
      const allowed = [`~${prefix}*`, `&${prefix}*`, ...docsPermissions, '+cluster'];
      await node.cli('acl', 'setuser', 'ada', 'on', '>secret', ...allowed);
      await node.cli('acl', 'setuser', 'default', 'off');
    }
    const [url = '', ...more] = nodes.map((node) => node.url.replace('//', '//ada:secret@'));
    const settings = { url, cluster: more, prefix };
    const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
    for (const collection of ['one', 'two', 'three', 'four', 'five', 'six']) {
      await store.records.put(collection, 'k', collection);
      expect(await other.records.get(collection, 'k')).toBe(collection);
      expect(await other.records.keys(collection, '', 9)).toEqual(['k']);
    }
    expect(await store.lease.take('l', 60_000)).toBeDefined();
    expect(await other.lease.take('l', 60_000)).toBeUndefined();
    await store.events.append('s', { sequence: 1, data: Buffer.from('e') });
    expect(await other.events.after('s', 0)).toHaveLength(1);
    const heard: string[] = [];
    other.bus.subscribe('t', (message) => heard.push(message));
    await eventually('the message is heard', async () => {
      await store.bus.publish('t', 'm');
      return heard.length > 0;
    });
    await expect(
      openTestStore({ settings: { ...settings, prefix: newPrefix() } }).then((store) =>
        store.records.put('one', 'k', 'v'),
      ),
    ).rejects.toMatchObject({ kind: 'denied' });
  },
);
