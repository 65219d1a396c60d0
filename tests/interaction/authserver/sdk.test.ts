/** Official clients go the whole way by themselves; only the person is simulated. */
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { ClientV1, ClientV2 } from '../harness/sdk.ts';
import { Person } from './person.ts';
import { claimsOf, Setting } from './setting.ts';

const done = [{ type: 'text', text: 'done' }];
const self = { name: 'sdk-client', version: '1.0.0' };

describe('the SDK', verifies('gateway:authserver:flow'), () => {
  it('v2 finds the server, registers, lets the user consent, and is authorized', async () => {
    const setting = await Setting.launch();
    const person = new Person(setting);
    const url = new URL(setting.gateway.url());
    const transport = new HttpV2(url, { authProvider: person as OAuthClientProvider });
    const first = new ClientV2(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await expect(first.connect(transport)).rejects.toThrow();
    await transport.finishAuth(person.back?.searchParams ?? new URLSearchParams());
    await first.close();
    const client = new ClientV2(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    onTestFinished(() => client.close());
    await client.connect(new HttpV2(url, { authProvider: person as OAuthClientProvider }));
    expect((await client.callTool({ name: 'work', arguments: {} })).content).toEqual(done);
    expect(claimsOf(person.saved?.access_token ?? '')).toMatchObject({
      aud: url.href,
      iss: setting.origin,
      sub: 'ada',
    });
    expect(person.saved?.refresh_token).toBeTypeOf('string');
  });

  it('v2 refreshes by itself when the token has expired', async () => {
    const setting = await Setting.launch();
    const person = new Person(setting);
    const url = new URL(setting.gateway.url());
    const transport = new HttpV2(url, { authProvider: person as OAuthClientProvider });
    const first = new ClientV2(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await expect(first.connect(transport)).rejects.toThrow();
    await transport.finishAuth(person.back?.searchParams ?? new URLSearchParams());
    await first.close();
    const before = person.saved?.refresh_token;
    if (person.saved !== undefined) person.saved = { ...person.saved, access_token: `${person.saved.access_token}x` };
    await setting.restart();
    const client = new ClientV2(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    onTestFinished(() => client.close());
    await client.connect(new HttpV2(url, { authProvider: person as OAuthClientProvider }));
    expect((await client.callTool({ name: 'work', arguments: {} })).content).toEqual(done);
    expect(person.saved?.refresh_token).not.toBe(before);
    expect(person.visits).toBe(1);
  });

  it('v1 does the same', async () => {
    const setting = await Setting.launch();
    const person = new Person(setting);
    const url = new URL(setting.gateway.url('b'));
    type Provider = NonNullable<ConstructorParameters<typeof HttpV1>[1]>['authProvider'];
    type Transport = Parameters<ClientV1['connect']>[0];
    const authProvider = person as unknown as NonNullable<Provider>;
    const transport = new HttpV1(url, { authProvider });
    const first = new ClientV1(self);
    await expect(first.connect(transport as Transport)).rejects.toThrow();
    await transport.finishAuth(person.back?.searchParams.get('code') ?? '');
    await first.close();
    const client = new ClientV1(self);
    onTestFinished(() => client.close());
    await client.connect(new HttpV1(url, { authProvider }) as Transport);
    expect((await client.callTool({ name: 'work', arguments: {} })).content).toEqual(done);
    expect(claimsOf(person.saved?.access_token ?? '').aud).toBe(url.href);
  });
});
