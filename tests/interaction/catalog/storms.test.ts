/**
 * A backend that tells of the same change again and again: clients hear of it at the beginning and at the end of that.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { notification, request } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras, initialize, modernMeta } from '../harness/eras.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { SseClient } from '../harness/sse-client.ts';
import { enter, heard, openMarket } from './setup.ts';
import { openShop, tool } from './shop.ts';

const toolsChanged = 'notifications/tools/list_changed';
const promptsChanged = 'notifications/prompts/list_changed';

/** Longer than any test takes. */
const HOUR_MS = 3_600_000;
const limits = { changesMs: HOUR_MS };
const STORM = 200;

describe.each(eras)('a %s backend at its own endpoint', verifies('gateway:catalog:storms'), (backendEra) => {
  const shopOf = () => openShop(backendEra, 'b', { tools: [tool('t')] });

  it.each(eras)('a storm of changes is notified to a %s client at its beginning and at its end', async (era) => {
    const clock = new LeapClock();
    const shop = await shopOf();
    const gateway = await openMarket([shop], { limits, ports: { clock } });
    const guest = await enter(era, gateway.url('b'));
    const stream = await guest.listen({ toolsListChanged: true, promptsListChanged: true });
    const told = () => heard(stream, toolsChanged).length;
    for (const round of [1, 2]) {
      await shop.changed('tools', STORM);
      // It comes on the same way: when it is heard, so is what was said before.
      await shop.changed('prompts');
      await until(() => heard(stream, promptsChanged).length === round, 'all is heard');
      expect(told()).toBe(round * 2 - 1);
      clock.leap(HOUR_MS);
      await until(() => told() === round * 2, 'the end is told');
      clock.leap(HOUR_MS);
    }
  });

  it('a storm of changes is notified once for now over HTTP+SSE', async () => {
    const shop = await shopOf();
    const gateway = await openMarket([shop], { limits });
    const client = await SseClient.connect(`${gateway.origin}/servers/b/sse`);
    await shop.changed('tools', STORM);
    await shop.changed('prompts');
    await client.stream.message(({ method }) => method === promptsChanged);
    expect(client.heard.filter(({ method }) => method === toolsChanged)).toHaveLength(1);
  });

  it.each(eras)('a storm of changes is notified once for now to a %s client over stdio', async (era) => {
    const shop = await shopOf();
    const client = new StdioClient(configFile({ backends: { b: { url: shop.backend.url } }, limits }));
    if (era === 'legacy') {
      await client.ask(initialize());
      client.say(notification('notifications/initialized'));
    } else {
      const notifications = { toolsListChanged: true, promptsListChanged: true };
      client.say(request(1, 'subscriptions/listen', { notifications, _meta: modernMeta() }));
      await client.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    }
    await shop.changed('tools', STORM);
    await shop.changed('prompts');
    await client.message(({ method }) => method === promptsChanged);
    expect(client.heard.filter(({ method }) => method === toolsChanged)).toHaveLength(1);
  });
});
