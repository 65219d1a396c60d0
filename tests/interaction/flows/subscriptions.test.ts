/** Subscriptions as an official client sees them. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, until } from '../harness/client.ts';
import { startGateway } from '../harness/gateway.ts';
import { connectV2 } from '../harness/sdk.ts';
import { plainV2, startV2 } from '../harness/sdk-servers.ts';

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';

interface Heard {
  readonly what: string;
  readonly subscription: unknown;
}

/** An official server that tells of some changes, and an official client that hears of them. */
async function pair(capabilities: Readonly<Record<string, object>>) {
  const server = await startV2(() => plainV2({ capabilities }, {}));
  const gateway = await startGateway({ backends: { b: { url: server.url } } });
  const heard: Heard[] = [];
  const hear = (what: string, params: Json) => heard.push({ what, subscription: params?._meta?.[subscriptionId] });
  const client = await connectV2(gateway.url('b'), {
    prepare: (fresh) => {
      fresh.setNotificationHandler('notifications/tools/list_changed', ({ params }) => void hear('tools', params));
      fresh.setNotificationHandler('notifications/prompts/list_changed', ({ params }) => void hear('prompts', params));
      fresh.setNotificationHandler('notifications/resources/updated', ({ params }) => void hear(params.uri, params));
    },
  });
  return { server, gateway, client, heard };
}

const everything = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true } };

describe('a subscription', () => {
  it(
    'is acknowledged with what the backend honours',
    verifies('subscriptions:listen:client:honored-surfacing'),
    async () => {
      const { client } = await pair({ tools: { listChanged: true } });
      const { honoredFilter } = await client.listen({ toolsListChanged: true, promptsListChanged: true });
      expect(honoredFilter).toEqual({ toolsListChanged: true });
    },
  );

  it('delivers changes and updates of the backend', verifies('subscriptions:listen:client:iteration'), async () => {
    const { client, server, heard } = await pair(everything);
    await client.listen({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a://b'] });
    server.notify.toolsChanged();
    server.notify.resourceUpdated('a://b');
    server.notify.resourceUpdated('a://other');
    server.notify.promptsChanged();
    server.notify.toolsChanged();
    await until(() => heard.length >= 4, 'all were told');
    expect(heard.map(({ what }) => what)).toEqual(['tools', 'a://b', 'prompts', 'tools']);
  });

  it(
    'beside another one of the same client has its own acknowledgement and events',
    verifies('subscriptions:listen:client:concurrent-demux'),
    async () => {
      const { client, server, heard } = await pair(everything);
      const first = await client.listen({ toolsListChanged: true });
      const second = await client.listen({ promptsListChanged: true });
      expect(first.honoredFilter).toEqual({ toolsListChanged: true });
      expect(second.honoredFilter).toEqual({ promptsListChanged: true });
      server.notify.toolsChanged();
      server.notify.promptsChanged();
      await until(() => heard.length >= 2, 'both were told');
      const idOf = (of: string) => heard.find(({ what }) => what === of)?.subscription;
      expect(heard.map(({ what }) => what).sort()).toEqual(['prompts', 'tools']);
      expect(idOf('tools')).toBeDefined();
      expect(idOf('prompts')).toBeDefined();
      expect(idOf('tools')).not.toBe(idOf('prompts'));
      // The end of one is not the end of the other.
      await first.close();
      expect(await first.closed).toBe('local');
      server.notify.toolsChanged();
      server.notify.promptsChanged();
      await until(() => heard.length >= 3, 'the other goes on');
      expect(heard.at(-1)).toEqual({ what: 'prompts', subscription: idOf('prompts') });
    },
  );

  it(
    'ends with its result when the gateway shuts down',
    verifies('subscriptions:listen:client:graceful-close'),
    async () => {
      const { client, gateway } = await pair(everything);
      const subscription = await client.listen({ toolsListChanged: true });
      await gateway.close(0);
      expect(await subscription.closed).toBe('graceful');
    },
  );
});
