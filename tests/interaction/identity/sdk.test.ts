/** Official clients with keys, and with tokens of a real issuer that they find by themselves. */
import {
  ClientCredentialsProvider,
  Client as ClientV2,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as CredentialsV1 } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { bearer, KeyRing } from '../harness/credentials.ts';
import { launchGateway, type TestGateway } from '../harness/gateway.ts';
import { launchOidc, type OidcIssuer } from '../harness/oidc.ts';
import { connectV1, connectV2 } from '../harness/sdk.ts';
import { plainV1, plainV2, type SdkServerV1, type SdkServerV2, serveV1, serveV2 } from '../harness/sdk-servers.ts';

const scopes = 'mcp:use tools:call';
const self = { name: 'sdk-client', version: '1.0.0' };
const description = { capabilities: { tools: {} } };
const answers = {
  'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'private' }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
};

let issuer: OidcIssuer;
let gateway: TestGateway;
let legacy: SdkServerV1<ReturnType<typeof plainV1>>;
let modern: SdkServerV2;
const ring = new KeyRing();
const key = ring.make('alice', { scopes: scopes.split(' ') });
beforeAll(async () => {
  issuer = await launchOidc(scopes);
  legacy = await serveV1(() => plainV1(description, answers));
  modern = await serveV2(() => plainV2(description, answers));
  gateway = await launchGateway({
    backends: { old: { url: legacy.url }, new: { url: modern.url } },
    identity: {
      keys: { file: ring.path, header: 'x-access-key' },
      issuers: [{ issuer: issuer.url }],
      scopes: { required: ['mcp:use'], methods: { 'tools/call': ['tools:call'] } },
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([legacy.close(), modern.close(), issuer.close()]);
  ring.close();
});

/** `/mcp` renames; the addresses of single backends do not. */
const places = [
  { place: 'everything', backend: undefined, tool: 'old__work' },
  { place: 'a legacy backend', backend: 'old', tool: 'work' },
  { place: 'a modern backend', backend: 'new', tool: 'work' },
] as const;

const done = [{ type: 'text', text: 'done' }];

describe.each(places)('at the address of $place', ({ backend, tool }) => {
  const presented = [
    { name: 'a key as a bearer token', headers: async () => bearer(key) },
    { name: 'a key in its own header', headers: async () => ({ 'X-Access-Key': key }) },
    {
      name: 'a token of the issuer',
      headers: async (url: string) => bearer(await issuer.token(issuer.clients.alice, url, scopes)),
    },
  ];
  it.each(presented)('clients of both SDKs get in with $name', verifies('gateway:identity:real-issuer'), async (by) => {
    const url = gateway.url(backend);
    const headers = { ...(await by.headers(url)) };
    for (const client of [await connectV1(url, { headers }), await connectV2(url, { headers })]) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain(tool);
      expect((await client.callTool({ name: tool, arguments: {} })).content).toEqual(done);
    }
    const sse = url.replace(/mcp$/, 'sse');
    const older = new ClientV1(self);
    onTestFinished(() => older.close());
    const inHeaders = { ...(await by.headers(sse)) };
    await older.connect(
      new SSEClientTransport(new URL(sse), { requestInit: { headers: inHeaders } }) as Parameters<
        ClientV1['connect']
      >[0],
    );
    expect((await older.callTool({ name: tool, arguments: {} })).content).toEqual(done);
  });

  it(
    'the SDKs find the issuer by the metadata, get a token for the address, and get in',
    verifies('gateway:identity:real-issuer', 'hosting:auth:metadata-endpoints'),
    async () => {
      const url = gateway.url(backend);
      const { id: clientId, secret: clientSecret } = issuer.clients.alice;
      const provider = new ClientCredentialsProvider({
        clientId,
        clientSecret,
        scope: scopes,
        expectedIssuer: issuer.url,
      });
      const client = await connectV2(url, { authProvider: provider });
      expect((await client.callTool({ name: tool, arguments: {} })).content).toEqual(done);
      const [, payload = ''] = provider.tokens()?.access_token.split('.') ?? [];
      expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
        iss: issuer.url,
        aud: url,
        scope: scopes,
      });

      const older = new ClientV1(self);
      onTestFinished(() => older.close());
      const authProvider = new CredentialsV1({ clientId, clientSecret, scope: scopes, expectedIssuer: issuer.url });
      await older.connect(new HttpV1(new URL(url), { authProvider }) as Parameters<ClientV1['connect']>[0]);
      expect((await older.callTool({ name: tool, arguments: {} })).content).toEqual(done);
    },
  );
});

describe('the SDKs', verifies('gateway:identity:real-issuer'), () => {
  it('request the scopes of the challenge, step by step', async () => {
    const url = gateway.url('new');
    const { id: clientId, secret: clientSecret } = issuer.clients.bob;
    const provider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer.url });
    const client = await connectV2(url, { authProvider: provider });
    const scopeOf = () =>
      JSON.parse(Buffer.from(provider.tokens()?.access_token.split('.')[1] ?? '', 'base64url').toString()).scope;
    expect(scopeOf()).toBe('mcp:use');
    expect((await client.callTool({ name: 'work', arguments: {} })).content).toEqual(done);
    expect(scopeOf()).toBe(scopes);
  });

  it('report why they are rejected', async () => {
    const url = gateway.url('new');
    const attempts: readonly Record<string, string>[] = [
      {},
      bearer('nonsense'),
      { 'x-access-key': 'guess' },
      bearer(await issuer.token(issuer.clients.alice, gateway.url('old'), scopes)),
    ];
    for (const headers of attempts) {
      await expect(connectV1(url, { headers })).rejects.toThrow(/Authentication required|token|key|Unauthorized/);
      const client = new ClientV2(self, { versionNegotiation: { mode: 'auto' } });
      onTestFinished(() => client.close());
      const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
      await expect(client.connect(transport)).rejects.toThrow();
    }
  });
});
