/** Streams need leave as calls do: those that stand open, and the older transport, on either side. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { TestTime } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { bearer } from '../harness/credentials.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { sseBackend } from '../harness/sse-backend.ts';
import { SseClient } from '../harness/sse-client.ts';
import { caller } from './caller.ts';
import { GuardedBackend, oauth } from './guarded-backend.ts';
import { done, Office } from './office.ts';
import { Person } from './person.ts';

const held = verifies('client-auth:bearer-header:every-request');

describe('an open stream', held, () => {
  it('is opened with the token, and with the new one after a refresh', async () => {
    const time = new TestTime();
    const office = await Office.open({ backend: 'legacy', ports: { timeOfDay: time.now } });
    const { backend } = office;
    const client = await office.client({ client: 'legacy', door: 'single' }, office.employee('ada'));
    expect(await client.call('work')).toMatchObject(done);
    await client.session?.listen();
    const first = await backend.inner.standing();
    expect(backend.ownerOf(first)).toBe('ada');
    const gets = () => backend.inner.received.filter(({ http }) => http === 'GET');
    const before = gets().length;
    time.move(120_000);
    for (const token of backend.owners.keys()) backend.ended.add(token);
    first.cut();
    await until(() => gets().length > before, 'the stream is opened again');
    expect(gets().at(-1)?.headers.authorization).not.toBe(first.received.headers.authorization);
    expect(backend.issuer.tokenRequests('refresh_token')).toHaveLength(1);
    expect(await client.call('work')).toMatchObject(done);
  });
});

describe('HTTP+SSE', held, () => {
  it.each(eras)('of a backend that wants consent, behind a %s client', async (era) => {
    const inner = await sseBackend({
      'tools/list': ({ message, session }) =>
        session.say({ jsonrpc: '2.0', id: message.id, result: { tools: [{ name: 'work', inputSchema: {} }] } }),
      'tools/call': ({ message, session }) => session.say({ jsonrpc: '2.0', id: message.id, ...done }),
    });
    const backend = await GuardedBackend.before(inner);
    const gateway = await startGateway(
      { backends: { files: { url: backend.url, auth: oauth } } },
      { records: new MemoryRecords(Date.now) },
    );
    const ada = new Person('ada', gateway.origin);
    const client = await caller({
      era,
      url: gateway.url(),
      shown: async (link) => {
        expect((await ada.agree(link, backend)).status).toBe(200);
        return 'accept';
      },
    });
    expect(await client.call('work')).toMatchObject(done);
    expect(client.asked).toHaveLength(1);
    expect(backend.presented.at(-1)).toMatch(/^Bearer access-/);
  });

  it('of a client: it gets the page in an error, because the transport is older than URL elicitation', async () => {
    const office = await Office.open({ backend: 'modern' });
    const ada = office.employee('ada');
    const url = office.url('merged').replace(/mcp$/, 'sse');
    const client = await SseClient.connect(url, {}, bearer(ada.key));
    onTestFinished(() => client.close());
    const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'files__work' } });
    const { error } = await client.ask(call(1));
    expect(error.data.reason).toBe('consent_needed');
    expect((await ada.person.agree(error.data.url, office.backend)).status).toBe(200);
    expect(await client.ask(call(2))).toMatchObject(done);
  });
});
