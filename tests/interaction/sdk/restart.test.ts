/** A restart of the gateway under official SDK clients of the legacy era: they go on as if nothing had happened. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { launchGateway, type TestGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { type ClientV1, ClientV2, connectV1, type ListChanged } from '../harness/sdk.ts';
import { launchBackend, type Version } from './backends.ts';

type Legacy = Pick<ClientV1, 'callTool' | 'listTools'>;

const clients: Readonly<Record<Version, (url: string, listChanged: ListChanged) => Promise<Legacy>>> = {
  v1: (url, listChanged) => connectV1(url, { listChanged }),
  v2: async (url, listChanged) => {
    const versionNegotiation = { mode: 'legacy' } as const;
    const client = new ClientV2({ name: 'sdk-client', version: '1.0.0' }, { listChanged, versionNegotiation });
    onTestFinished(() => client.close());
    await client.connect(new HttpV2(new URL(url)));
    return client as unknown as Legacy;
  },
};

describe.each(['v1', 'v2'] as const)('a client of SDK %s', (client) => {
  it.each(['v1', 'v2'] as const)(
    'goes on at a server of SDK %s, and hears of changes',
    verifies('gateway:legacy:continued'),
    async (server) => {
      const backend = await launchBackend(server, 'http');
      const dir = mkdtempSync(join(tmpdir(), 'bascule-restart-'));
      const port = await freePort();
      const config = { backends: { b: backend.config }, store: { dir } };
      let gateway: TestGateway | undefined = await launchGateway(config, {}, port);
      onTestFinished(async () => {
        await gateway?.close();
        await backend.close();
        rmSync(dir, { recursive: true, force: true });
      });
      let changes = 0;
      const listChanged = { tools: { onChanged: () => void changes++ } };
      const speaker = await clients[client](gateway.url('b'), listChanged);
      const before = await speaker.listTools();
      for (let restart = 0; restart < 2; restart++) {
        await gateway.close();
        gateway = await launchGateway(config, {}, port);
        // The client is in this process: it has to see that its connections are closed before it uses one.
        for (let turn = 0; turn < 3; turn++) await send(`${gateway.origin}/healthz`, { method: 'GET' });
        expect(await speaker.listTools()).toEqual(before);
        expect(gateway.counters.snapshot()['session.continued']).toBe(1);
        const heard = changes;
        await until(() => changes > heard, 'the client has its stream again');
      }
    },
  );
});
