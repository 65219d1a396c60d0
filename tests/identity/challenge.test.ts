import { describe, expect, test } from 'vitest';
import { Failure, type Reason } from '../../src/errors/failure.ts';
import { basesOf, buildGuard, type GuardedAuth } from '../../src/identity/auth-metadata.ts';
import { challenge, type RefusedRequest, refusalOf } from '../../src/identity/challenge.ts';
import { metadataDocument, metadataRoutes, metadataUrl } from '../../src/identity/metadata.ts';
import { Hierarchy } from '../../src/identity/scopes.ts';
import { guarded, issuerSettings, issuerUrl } from './support.ts';

const scopes = { required: ['mcp'], methods: { 'tools/call': ['mcp:write'] }, tools: {} };
const withTokens = guarded({ scopes });
const keysOnly = guarded({ tokens: false });
const envelope = guarded({ tokens: false, style: 'envelope', scopes });
const metadata = 'resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"';

describe('style challenge', () => {
  const rows: {
    name: string;
    reason: Reason;
    guard: GuardedAuth;
    refused?: Partial<RefusedRequest>;
    status: number;
    header: string;
  }[] = [
    {
      name: 'no credentials',
      reason: 'credentials_missing',
      guard: withTokens,
      status: 401,
      header: `Bearer ${metadata}, scope="mcp"`,
    },
    {
      name: 'no credentials, keys only',
      reason: 'credentials_missing',
      guard: keysOnly,
      status: 401,
      header: 'Bearer realm="mcp"',
    },
    {
      name: 'an unknown key, keys only',
      reason: 'key_unknown',
      guard: keysOnly,
      status: 401,
      header: 'Bearer error="invalid_token", error_description="The key is not known"',
    },
    {
      name: 'a token for another audience',
      reason: 'audience_mismatch',
      guard: withTokens,
      status: 401,
      header: `Bearer error="invalid_token", error_description="The token is for another audience", ${metadata}, scope="mcp"`,
    },
    {
      name: 'the scopes of the operation',
      reason: 'scope_insufficient',
      guard: withTokens,
      refused: { operation: { method: 'tools/call' } },
      status: 403,
      header: `Bearer error="insufficient_scope", error_description="More scopes are needed", ${metadata}, scope="mcp mcp:write"`,
    },
    {
      name: 'two ways at once',
      reason: 'credentials_ambiguous',
      guard: withTokens,
      status: 400,
      header: `Bearer error="invalid_request", error_description="The request has credentials in more than one place", ${metadata}, scope="mcp"`,
    },
    {
      name: 'the address of HTTP+SSE',
      reason: 'credentials_missing',
      guard: withTokens,
      refused: { path: '/sse' },
      status: 401,
      header: 'Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/sse", scope="mcp"',
    },
  ];
  test.each(rows)('$name', ({ reason, guard, refused, status, header }) => {
    for (const kind of ['request', 'unreadable', 'other'] as const) {
      expect(refusalOf(new Failure(reason), guard, { kind, ...refused })).toEqual({
        status,
        headers: { 'WWW-Authenticate': header },
        withoutId: 'absent',
      });
    }
  });

  test('an issuer that is unavailable is not the client’s fault', () => {
    expect(refusalOf(new Failure('issuer_unavailable'), withTokens, { kind: 'request' })).toEqual({
      status: 503,
      headers: { 'Retry-After': '5' },
      withoutId: 'absent',
    });
  });
});

describe('style envelope', () => {
  const reasons: Reason[] = [
    'credentials_missing',
    'key_unknown',
    'key_expired',
    'scope_insufficient',
    'credentials_ambiguous',
  ];
  test.each(reasons)('reports %s inside of the exchange, or as HTTP where there is none', (reason) => {
    const failure = new Failure(reason);
    const inside = { status: 200, headers: {}, withoutId: 'null' };
    expect(refusalOf(failure, envelope, { kind: 'request' })).toEqual(inside);
    expect(refusalOf(failure, envelope, { kind: 'unreadable' })).toEqual(inside);
    const outside = refusalOf(failure, envelope, { kind: 'other' });
    expect(outside.status).toBe(failure.row.status);
    expect(outside.headers['WWW-Authenticate']).toMatch(/^Bearer .*scope="mcp"$/);
  });
});

test('values are quoted, and cannot escape their quotes or their line', () => {
  expect(challenge({ a: 'x"y\\z', b: 'line\r\nSet-Cookie: x', c: '\u00e9\u{1f600}', d: undefined })).toBe(
    'Bearer a="x\\"y\\\\z", b="line??Set-Cookie: x", c="???"',
  );
});

describe('protected resource metadata', () => {
  test('names the resource, its issuers and the required scopes', () => {
    expect(metadataDocument(withTokens)).toEqual({
      resource: 'https://mcp.example/mcp',
      authorization_servers: [issuerUrl],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
    });
    expect(metadataDocument(guarded(), { path: '/sse' })).toEqual({
      resource: 'https://mcp.example/sse',
      authorization_servers: [issuerUrl],
      bearer_methods_supported: ['header'],
    });
  });

  test('is at the place of each path, and at the root', () => {
    const routes = metadataRoutes([keysOnly, withTokens]);
    expect(Object.fromEntries([...routes].map(([path, route]) => [path, route.path]))).toEqual({
      '/.well-known/oauth-protected-resource/mcp': '/mcp',
      '/.well-known/oauth-protected-resource/sse': '/sse',
      '/.well-known/oauth-protected-resource': '/mcp',
    });
  });

  test('is absent for endpoints without tokens', () => {
    expect(metadataRoutes([keysOnly, envelope]).size).toBe(0);
    expect(metadataDocument(keysOnly)).toBeUndefined();
    expect(metadataUrl(keysOnly)).toBeUndefined();
  });

  const local = (listening: string, paths = ['/mcp']) => {
    const { kind, keys, tokens, style } = withTokens;
    return buildGuard(
      { kind, keys, tokens, style, audiences: [], scopes },
      { issuers: [issuerSettings()], hierarchy: new Hierarchy(), bases: basesOf({}, listening), paths },
    ) as GuardedAuth;
  };

  test('at an endpoint that is the root', () => {
    const guard = local('https://mcp.example', ['/']);
    expect(metadataDocument(guard)?.resource).toBe('https://mcp.example');
    expect(metadataUrl(guard)).toBe('https://mcp.example/.well-known/oauth-protected-resource');
    expect([...metadataRoutes([guard]).keys()]).toEqual(['/.well-known/oauth-protected-resource']);
  });

  test.each([
    { host: undefined, resource: 'http://127.0.0.1:8808/mcp' },
    { host: 'localhost:8808', resource: 'http://localhost:8808/mcp' },
    { host: 'LOCALHOST:8808', resource: 'http://localhost:8808/mcp' },
    { host: '[::1]:8808', resource: 'http://[::1]:8808/mcp' },
    { host: 'evil.example', resource: 'http://127.0.0.1:8808/mcp' },
    { host: 'localhost:8808/x?"', resource: 'http://127.0.0.1:8808/mcp' },
  ])('on this machine uses the address that the client used: $host', ({ host, resource }) => {
    const guard = local('http://127.0.0.1:8808');
    expect(metadataDocument(guard, { host })?.resource).toBe(resource);
    expect(guard.ours.has(resource)).toBe(true);
  });

  test('has one address if the config sets it', () => {
    expect(basesOf({ publicUrl: 'HTTPS://Mcp.Example:443/' }, 'http://127.0.0.1:8808')).toEqual([
      'https://mcp.example',
    ]);
    expect(basesOf({}, 'http://192.0.2.1:80')).toEqual(['http://192.0.2.1']);
  });
});
