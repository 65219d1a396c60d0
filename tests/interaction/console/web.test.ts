/** The console over HTTP: who gets in and how, what a person without the right sees, and what no answer has. */
import { describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../../src/console/api.ts';
import { RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Answer, type Headers, type Json, send, until } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';

const secrets = {
  header: 'planted-header-value-1',
  env: 'planted-env-value-2',
  argument: 'planted-process-argument-3',
  seal: 'planted-seal-key-4-0123456789abcdef',
  callArgument: 'planted-call-argument-5',
} as const;

interface Guarded {
  readonly gateway: TestGateway;
  readonly keys: Readonly<Record<'ada' | 'bob' | 'eve', string>>;
}

/** Ada may do everything, Bob may look, Eve may nothing. */
async function open(more: object = {}): Promise<Guarded> {
  const ring = keyRing();
  const keys = { ada: ring.make('ada'), bob: ring.make('bob'), eve: ring.make('eve') };
  const backend = await modernBackend({
    'tools/list': (turn) =>
      turn.result({
        resultType: 'complete',
        tools: [{ name: 'read', inputSchema: {} }],
        ttlMs: 1,
        cacheScope: 'public',
      }),
    'tools/call': (turn) => turn.result({ resultType: 'complete', content: [] }),
  });
  const gateway = await startGateway({
    backends: {
      files: { url: backend.url, headers: { 'X-Api-Key': secrets.header } },
      process: { command: 'false', args: [secrets.argument], env: { TOKEN: secrets.env } },
    },
    identity: { keys: { file: ring.path } },
    seal: { key: secrets.seal },
    console: {
      who: { keys: ['ada', 'bob'] },
      revoke: { who: { keys: ['ada'] } },
      try: { who: { keys: ['ada'] } },
    },
    ...more,
  });
  return { gateway, keys };
}

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });
const api = (gateway: TestGateway, path: string) => `${gateway.origin}/console/api${path}`;

function ask(gateway: TestGateway, path: string, headers: Headers): Promise<Answer> {
  return send(api(gateway, path), { method: 'GET', headers });
}

function post(url: string, body: unknown, headers: Headers): Promise<Answer> {
  return send(url, { body, headers: { 'content-type': 'application/json', ...headers } });
}

function signIn(gateway: TestGateway, key: string, headers: Headers = {}): Promise<Answer> {
  return send(`${gateway.origin}/console/sign-in`, {
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: gateway.origin,
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
    body: new URLSearchParams({ key }).toString(),
  });
}

function cookieIn({ headers }: Answer): string {
  return String(headers['set-cookie']).split(';', 1)[0] ?? '';
}

const bodies: Readonly<Record<string, object>> = {
  '/policy/try': { action: 'call', tool: 'read', backend: 'files' },
  '/sessions/revoke': { person: 'x' },
  '/approvals/answer': { id: 'unknown', answer: 'deny' },
  '/tools/try': { endpoint: '/servers/files/mcp', tool: 'read', arguments: {} },
};
const queries: Readonly<Record<string, string>> = { '/call': '?id=1', '/tools': '?endpoint=/servers/files/mcp' };

/** No question is open here. */
const goodStatus = ({ path }: (typeof consoleRoutes)[number]) => (path === '/approvals/answer' ? 404 : 200);

function askRoute(gateway: TestGateway, { method, path }: (typeof consoleRoutes)[number], headers: Headers) {
  const url = api(gateway, `${path}${queries[path] ?? ''}`);
  return method === 'GET' ? send(url, { method, headers }) : post(url, bodies[path], headers);
}

describe('rights', () => {
  it.each(consoleRoutes)(
    '$method $path answers with the right, and refuses without',
    verifies('gateway:console:rights', 'gateway:console:revoke'),
    async (route) => {
      const { gateway, keys } = await open();
      await send(gateway.url('files'), { ...call(keys.ada) });
      const good = goodStatus(route);
      expect((await askRoute(gateway, route, bearer(keys.ada))).status).toBe(good);
      const isEnough = route.right === 'view' || route.right === 'enter';
      expect((await askRoute(gateway, route, bearer(keys.bob))).status).toBe(isEnough ? good : 403);
      const eve = await askRoute(gateway, route, bearer(keys.eve));
      expect(eve.status).toBe(403);
      expect(eve.json()).toEqual({ error: { reason: 'not_allowed', message: 'You may not use this console' } });
      for (const headers of [{}, bearer('bsk_nonsense'), { cookie: 'bascule-console=nonsense' }])
        expect((await askRoute(gateway, route, headers)).status).toBe(401);
    },
  );

  it('an unknown path says nothing to a person without the right', verifies('gateway:console:rights'), async () => {
    const { gateway, keys } = await open();
    expect((await ask(gateway, '/nothing', bearer(keys.eve))).status).toBe(403);
    expect((await ask(gateway, '/nothing', bearer(keys.ada))).status).toBe(404);
  });

  it('the page of a person without the right names only them', verifies('gateway:console:rights'), async () => {
    const { gateway, keys } = await open();
    const cookie = cookieIn(await signIn(gateway, keys.eve));
    const page = await send(`${gateway.origin}/console`, { method: 'GET', headers: { cookie } });
    expect(page.status).toBe(403);
    expect(page.body).toContain('key:eve');
    expect(page.body).not.toMatch(/files|process|ada|bob/);
  });

  it('a reload takes a right away at once', verifies('gateway:console:rights'), async () => {
    const { gateway, keys } = await open();
    const cookie = cookieIn(await signIn(gateway, keys.bob));
    expect((await ask(gateway, '/me', { cookie })).status).toBe(200);
    gateway.reload({
      backends: {},
      identity: { keys: { file: gateway.config.identity.keyFile } },
      seal: { key: secrets.seal },
      console: { who: { keys: ['ada'] } },
    });
    expect((await ask(gateway, '/me', { cookie })).status).toBe(403);
  });
});

const call = (key: string) => {
  const request = modern({ method: 'tools/call', params: { name: 'read', arguments: { text: secrets.callArgument } } });
  return { ...request, headers: { ...request.headers, ...bearer(key) } };
};

describe('secrets', () => {
  it('are in no answer of any route', verifies('gateway:console:no-secrets', 'gateway:console:people'), async () => {
    const { gateway, keys } = await open();
    const cookie = cookieIn(await signIn(gateway, keys.ada));
    await send(gateway.url('files'), call(keys.ada));
    const client = await connectLegacy(gateway.url('files'), {}, bearer(keys.bob));
    await client.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    await gateway.assembled.backends
      .get('process')
      ?.discover()
      .catch(() => undefined);
    const planted = [...Object.values(secrets), ...Object.values(keys), client.session, cookie.split('=')[1] ?? ''];
    for (const route of consoleRoutes) {
      const { status, body, headers } = await askRoute(gateway, route, bearer(keys.ada));
      expect(status).toBe(goodStatus(route));
      expect(headers['cache-control']).toBe('no-store');
      for (const secret of planted) expect(body, `${route.path} has ${secret}`).not.toContain(secret);
    }
    const page = await send(`${gateway.origin}/console`, { method: 'GET', headers: { cookie } });
    for (const secret of planted) expect(page.body).not.toContain(secret);
  });

  it('are masked in recorded bodies', verifies('gateway:console:bodies'), async () => {
    const { gateway, keys } = await open({
      console: { who: { keys: ['ada'] }, record: 'bodies' },
    });
    const request = modern({
      method: 'tools/call',
      params: { name: 'read', arguments: { path: '/etc', password: 'hunter2', note: 'Bearer abcdef123456' } },
    });
    await send(gateway.url('files'), { ...request, headers: { ...request.headers, ...bearer(keys.ada) } });
    const { calls } = (await ask(gateway, '/calls', bearer(keys.ada))).json();
    const { bodies: kept } = (await ask(gateway, `/call?id=${calls[0].id}`, bearer(keys.ada))).json();
    expect(JSON.parse(kept.request).arguments).toEqual({ path: '/etc', password: '***', note: 'Bearer ***' });
    expect(JSON.parse(kept.response).result).toMatchObject({ content: [] });
    expect(JSON.stringify(calls)).not.toContain('/etc');
  });
});

describe('sign-in', () => {
  it('exchanges a key for a cookie that a script cannot read', verifies('gateway:console:sign-in'), async () => {
    const { gateway, keys } = await open();
    const entered = await signIn(gateway, keys.ada);
    expect(entered).toMatchObject({ status: 303, headers: { location: '/console' } });
    const set = String(entered.headers['set-cookie']);
    expect(set).toMatch(/^bascule-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    const cookie = cookieIn(entered);
    expect((await ask(gateway, '/me', { cookie })).json()).toMatchObject({ who: 'key:ada', canTry: true });
    const page = await send(`${gateway.origin}/console`, { method: 'GET', headers: { cookie } });
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
    const out = await send(`${gateway.origin}/console/sign-out`, {
      body: '',
      headers: { cookie, origin: gateway.origin },
    });
    expect(out.status).toBe(303);
    expect((await ask(gateway, '/me', { cookie })).status).toBe(401);
  });

  it(
    'refuses a wrong key, and after ten of them every key for a while',
    verifies('gateway:console:sign-in'),
    async () => {
      const { gateway, keys } = await open();
      for (let tries = 0; tries < 10; tries++) expect((await signIn(gateway, 'bsk_wrong')).status).toBe(403);
      const late = await signIn(gateway, keys.ada);
      expect(late.status).toBe(429);
      expect(Number(late.headers['retry-after'])).toBeGreaterThan(0);
      expect(late.headers['set-cookie']).toBeUndefined();
      // The first is logged at once, the others together, and the key is in neither.
      const refusals = gateway.log.filter(({ text }) => text.startsWith('request refused'));
      expect(refusals).toMatchObject([{ level: 'warn', facts: { address: '127.0.0.1', path: '/console' } }]);
      expect(JSON.stringify(gateway.log)).not.toContain('bsk_wrong');
    },
  );

  it('counts wrong keys by the client that a trusted proxy names', verifies('gateway:console:sign-in'), async () => {
    const { gateway, keys } = await open({ listen: { trustedProxies: ['127.0.0.1'] } });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (let tries = 0; tries < 10; tries++) await signIn(gateway, 'bsk_wrong', from('192.0.2.1'));
    expect((await signIn(gateway, keys.ada, from('192.0.2.1'))).status).toBe(429);
    expect((await signIn(gateway, keys.ada, from('192.0.2.2'))).status).toBe(303);
    await ask(gateway, '/me', { ...bearer('bsk_wrong'), ...from('192.0.2.3') });
    const refusals = gateway.log.filter(({ text }) => text.startsWith('request refused'));
    expect(refusals.map(({ facts }) => facts.address)).toEqual(['192.0.2.1', '192.0.2.3']);
  });

  it('without identity a link works once, and only from here', verifies('gateway:console:sign-in'), async () => {
    const gateway = await startGateway({ backends: {}, console: {} });
    const link = gateway.assembled.operating?.link() ?? '';
    const token = /#enter=(.+)$/.exec(link)?.[1];
    const enter = (headers: Headers = {}) =>
      post(`${gateway.origin}/console/enter`, { token }, { origin: gateway.origin, ...headers });
    expect((await ask(gateway, '/me', {})).status).toBe(401);
    expect((await enter({ origin: 'https://evil.example' })).status).toBe(403);
    expect((await enter({ 'x-forwarded-for': '10.0.0.1' })).status).toBe(403);
    const entered = await enter();
    expect(entered.status).toBe(200);
    expect((await enter()).status).toBe(403);
    const cookie = cookieIn(entered);
    expect((await ask(gateway, '/me', { cookie })).json()).toMatchObject({ who: 'local' });
    expect((await ask(gateway, '/me', { cookie, via: '1.1 proxy' })).status).toBe(401);
  });
});

describe('forged requests', () => {
  const foreign: readonly { readonly name: string; readonly headers: Headers }[] = [
    { name: 'another origin', headers: { origin: 'https://evil.example' } },
    { name: 'another port of the same host', headers: { origin: 'http://127.0.0.1:1' } },
    { name: 'a hidden origin', headers: { origin: 'null' } },
    { name: 'no origin at all', headers: {} },
    { name: 'another site', headers: { 'sec-fetch-site': 'cross-site' } },
    { name: 'the same site, another origin', headers: { 'sec-fetch-site': 'same-site' } },
  ];
  it.each(foreign)(
    'an act from $name with the cookie is refused',
    verifies('gateway:console:forgery'),
    async ({ headers }) => {
      const { gateway, keys } = await open();
      const cookie = cookieIn(await signIn(gateway, keys.ada));
      const acts = consoleRoutes.filter(({ method }) => method === 'POST');
      for (const { path } of acts)
        expect((await post(api(gateway, path), bodies[path], { cookie, ...headers })).status).toBe(403);
      expect((await signIn(gateway, keys.ada, { 'sec-fetch-site': 'cross-site', ...headers })).status).toBe(403);
      const own = await post(api(gateway, '/policy/try'), bodies['/policy/try'], { cookie, origin: gateway.origin });
      expect(own.status).toBe(200);
    },
  );

  it('a revoked key ends the session of its cookie', verifies('gateway:console:sign-in'), async () => {
    const ring = keyRing();
    const key = ring.make('ada');
    const gateway = await startGateway({
      backends: {},
      identity: { keys: { file: ring.path } },
      console: { who: { keys: ['ada'] } },
    });
    const cookie = cookieIn(await signIn(gateway, key));
    expect((await ask(gateway, '/me', { cookie })).status).toBe(200);
    ring.revoke('ada');
    const { authenticator } = gateway.assembled.currentGeneration.now;
    await until(() => authenticator.keyOf(key) === undefined, 'the key file was read again');
    expect((await ask(gateway, '/me', { cookie })).status).toBe(401);
  });
});

describe('an address of its own', () => {
  it('serves the console there, and not beside the endpoints', verifies('gateway:console:sign-in'), async () => {
    const { gateway, keys } = await open({ console: { who: { keys: ['ada'] }, listen: { port: 0 } } });
    const link = gateway.assembled.operating?.link() ?? '';
    expect(new URL(link).origin).not.toBe(gateway.origin);
    const me = await send(`${link}/api/me`, { method: 'GET', headers: bearer(keys.ada) });
    expect((me.json() as Json).who).toBe('key:ada');
    expect((await ask(gateway, '/me', bearer(keys.ada))).status).toBe(404);
    expect((await send(link.replace('/console', '/mcp'), { method: 'GET' })).status).toBe(404);
    const rebound = await send(link, { method: 'GET', headers: { host: 'evil.example' } });
    expect(rebound).toMatchObject({ status: 403, body: 'Host not allowed\n' });
    expect(gateway.log.filter(({ facts }) => facts.reason === 'host_not_allowed')).toHaveLength(1);
  });

  it('refuses a repeated or missing `Host`', verifies('gateway:console:sign-in'), async () => {
    const { gateway } = await open({ console: { who: { keys: ['ada'] }, listen: { port: 0 } } });
    const { host, port } = new URL(gateway.assembled.operating?.link() ?? '');
    for (const hosts of [[host, host], [host, 'evil.example'], []]) {
      const client = new RawClient(Number(port));
      client.send(`GET /console HTTP/1.1\r\n${hosts.map((name) => `Host: ${name}\r\n`).join('')}\r\n`);
      expect(await client.until('\r\n')).toContain('HTTP/1.1 400 ');
    }
  });
});
