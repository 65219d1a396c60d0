/** What an endpoint with many backends says of itself: what some backend really has, and never later than the limit. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { enter, type Guest, namesOf, openMarket } from './setup.ts';
import { openShop, resource, tool } from './shop.ts';

const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
const serverInfo = ({ greeting }: Guest) => greeting.serverInfo ?? greeting._meta[serverInfoKey];

describe.each(eras)('for a %s client', (era) => {
  it('capabilities are the union of the backends', verifies('gateway:catalog:greeting'), async () => {
    const shops = [
      await openShop('modern', 'a', { capabilities: { tools: {} }, instructions: 'Use A.' }),
      await openShop('legacy', 'b', { capabilities: { tools: { listChanged: true }, completions: {}, prompts: {} } }),
      await openShop('legacy', 'c', {
        capabilities: { logging: {}, experimental: { 'x/y': { deep: 1 } }, prompts: {} },
        instructions: 'Use C.',
      }),
    ];
    const guest = await enter(era, (await openMarket(shops)).url());
    const { capabilities, instructions } = guest.greeting;
    expect(Object.keys(capabilities).sort()).toEqual(['completions', 'experimental', 'logging', 'prompts', 'tools']);
    // The gateway tells of backends that come and go.
    expect(capabilities).toMatchObject({ tools: { listChanged: true }, experimental: { 'x/y': { deep: 1 } } });
    expect(instructions).toBe('## a\n\nUse A.\n\n## c\n\nUse C.');
    expect(serverInfo(guest)).toMatchObject({ name: 'bascule' });
  });

  it(
    'a method of a capability that no backend has is unknown, and is sent to no backend',
    verifies('gateway:catalog:greeting'),
    async () => {
      const shops = [
        await openShop('modern', 'a', { capabilities: { tools: {} } }),
        await openShop('legacy', 'b', { capabilities: { tools: {} } }),
      ];
      const guest = await enter(era, (await openMarket(shops)).url());
      await guest.all('tools/list');
      const counts = () => shops.map(({ backend }) => backend.received.length);
      const before = counts();
      const absent = [
        { method: 'prompts/list', params: {} },
        { method: 'resources/list', params: {} },
        { method: 'resources/templates/list', params: {} },
        { method: 'resources/read', params: { uri: 'a://b' } },
        { method: 'prompts/get', params: { name: 'a__p' } },
        {
          method: 'completion/complete',
          params: { ref: { type: 'ref/prompt', name: 'a__p' }, argument: { name: 'x', value: '' } },
        },
        { method: 'nobody/knows', params: {} },
        ...(era === 'legacy'
          ? [
              { method: 'logging/setLevel', params: { level: 'info' } },
              { method: 'resources/subscribe', params: { uri: 'a://b' } },
            ]
          : []),
      ];
      for (const { method, params } of absent) {
        const answer = await guest.send(method, params);
        expect({ method, code: answer.json().error?.code, status: answer.status }).toEqual({
          method,
          code: -32601,
          status: era === 'modern' ? 404 : 200,
        });
      }
      expect(counts()).toEqual(before);
    },
  );

  it(
    'discovery waits for the slowest backend up to the limit, and notifies when it is ready',
    verifies('gateway:catalog:greeting-bounded', 'gateway:catalog:backend-recovers'),
    async () => {
      const clock = new LeapClock();
      const probes: (() => void)[] = [];
      const slow = await openShop('modern', 'slow', {
        tools: [tool('t')],
        resources: [resource('slow://r')],
        script: {
          'server/discover': (turn) =>
            void probes.push(() =>
              turn.result({
                resultType: 'complete',
                supportedVersions: ['2026-07-28'],
                capabilities: { tools: {}, resources: {} },
                ttlMs: 0,
                cacheScope: 'private',
              }),
            ),
        },
      });
      const quick = await openShop('legacy', 'quick', { tools: [tool('t')], capabilities: { tools: {} } });
      // Longer than the test may take: nothing but the limit ends the wait.
      const gateway = await openMarket([slow, quick], {
        limits: { probeMs: 36_000_000, discoverWaitMs: 30_000 },
        ports: { clock },
      });
      const entering = enter(era, gateway.url());
      await until(() => probes.length > 0 && quick.count('initialize') > 0, 'both backends are asked what they are');
      await gateway.assembled.backends.get('quick')?.discover();
      clock.leap(30_000);
      const guest = await entering;
      // It may have any of these: a client that was told of none would never look.
      expect(Object.keys(guest.greeting.capabilities).sort()).toEqual(['prompts', 'resources', 'tools']);
      const stream = await listening(guest, clock);
      for (const answer of probes) answer();
      await stream.message(({ method }) => method === 'notifications/tools/list_changed');
      expect(namesOf(await guest.all('tools/list'))).toEqual(['slow__t', 'quick__t']);
      expect(namesOf(await guest.all('resources/list'))).toEqual(['slow://r']);
    },
  );
});

/** The greeting is given anew for a subscription, within the same limit. */
async function listening(guest: Guest, clock: LeapClock) {
  const opening = guest.listen({ toolsListChanged: true });
  let open = false;
  void opening.then(() => {
    open = true;
  });
  await until(() => {
    if (!open) clock.leap(10_000);
    return open;
  }, 'the subscription stands');
  return opening;
}
