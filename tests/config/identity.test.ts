import { describe, expect, test } from 'vitest';
import { ConfigDocument } from '../../src/config/document.ts';
import { readGuard, readIdentity, unreachable } from '../../src/config/identity.ts';
import { buildListen } from '../../src/config/listen.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { algorithms } from '../../src/identity/settings.ts';

function read(text: string, env: Readonly<Record<string, string>> = {}) {
  const document = new ConfigDocument('bascule.yaml', text, 'yaml');
  const variables = { env, predefined: {} };
  const identity = readIdentity(document, '/project', variables);
  const endpoints = document.read(['endpoints'], variables);
  const guards = (Array.isArray(endpoints) ? endpoints : []).map((endpoint, at) =>
    readGuard(document, ['endpoints', at, 'identity'], endpoint.identity, identity),
  );
  if (document.problems.length > 0) throw new ConfigError(document.problems);
  return { identity, guards };
}

function complaints(text: string): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.format();
    throw error;
  }
  throw new Error('this config was accepted');
}

const keys = 'identity:\n  keys: { file: keys.json }\n';
const issuers = 'identity:\n  issuers: [{ issuer: https://login.example }]\n';
const both = `${keys}  issuers: [{ issuer: https://login.example }]\n`;

describe('identity', () => {
  test('is open if the config does not mention it', () => {
    for (const text of ['backends: {}\n', 'identity: none\n']) {
      expect(read(`${text}endpoints: [{ path: /mcp }, { path: /x, identity: none }]\n`)).toEqual({
        identity: { settings: { issuers: [], implies: {} }, guard: { kind: 'open' } },
        guards: [{ kind: 'open' }, { kind: 'open' }],
      });
    }
  });

  test('can set everything', () => {
    const text = `
identity:
  publicUrl: HTTPS://Mcp.Example:443/
  keys: { file: keys.json, header: X-Access-Key, query: key }
  issuers:
    - issuer: https://login.example
      jwksUri: https://login.example/jwks
      algorithms: [RS256]
      clockToleranceMs: 1min
    - issuer: https://opaque.example/
      audienceCheckedByVerifier: true
      introspection: { url: 'http://localhost:9/introspect', clientId: gateway, clientSecret: '\${SECRET}' }
  audiences: [api://bascule]
  scopes:
    required: [mcp]
    methods: { tools/call: [mcp:write] }
    tools: { erase: [mcp:admin] }
    implies: { mcp:admin: [mcp:write] }
  local: { scopes: [mcp] }
  style: challenge
endpoints:
  - path: /mcp
  - path: /public
    identity: none
  - path: /partners
    identity:
      accept: [keys]
      style: envelope
      keys: { header: x-partner-key }
      audiences: []
      scopes: { required: [] }
`;
    const usual = {
      kind: 'guarded',
      keys: true,
      tokens: true,
      style: 'challenge',
      keyHeader: 'x-access-key',
      keyQuery: 'key',
      audiences: ['api://bascule'],
      scopes: { required: ['mcp'], methods: { 'tools/call': ['mcp:write'] }, tools: { erase: ['mcp:admin'] } },
    };
    expect(read(text, { SECRET: 's3cret' })).toEqual({
      identity: {
        settings: {
          publicUrl: 'https://mcp.example',
          keyFile: '/project/keys.json',
          issuers: [
            {
              issuer: 'https://login.example',
              jwksUri: 'https://login.example/jwks',
              algorithms: ['RS256'],
              clockToleranceMs: 60_000,
              audienceCheckedByVerifier: false,
            },
            {
              issuer: 'https://opaque.example/',
              algorithms,
              clockToleranceMs: 30_000,
              audienceCheckedByVerifier: true,
              introspection: { url: 'http://localhost:9/introspect', clientId: 'gateway', clientSecret: 's3cret' },
            },
          ],
          implies: { 'mcp:admin': ['mcp:write'] },
          localScopes: ['mcp'],
        },
        guard: usual,
      },
      guards: [
        usual,
        { kind: 'open' },
        {
          ...usual,
          tokens: false,
          style: 'envelope',
          keyHeader: 'x-partner-key',
          audiences: [],
          scopes: { ...usual.scopes, required: [] },
        },
      ],
    });
  });

  test('of an endpoint without its own is that of the file', () => {
    const { identity, guards } = read(`${both}endpoints: [{ path: /mcp }]\n`);
    expect(guards).toEqual([identity?.guard]);
    expect(identity?.guard).toMatchObject({ kind: 'guarded', keys: true, tokens: true });
  });
});

describe('identity is rejected', () => {
  const rows = [
    { name: 'without any way in', text: 'identity: { style: challenge }\n', says: 'neither `keys` nor `issuers`' },
    { name: 'with an unknown word', text: 'identity: nobody\n', says: 'expected `none`, or a map' },
    { name: 'that is empty', text: 'identity:\n', says: '`identity` has a wrong value' },
    { name: 'with a misspelt key', text: 'identity: { key: { file: x } }\n', says: 'did you mean `keys`?' },
    {
      name: 'with the envelope style for tokens',
      text: `${issuers}  style: envelope\n`,
      says: '`envelope` does not work with tokens',
    },
    {
      name: 'with the envelope style at an endpoint with tokens',
      text: `${both}endpoints: [{ identity: { style: envelope } }]\n`,
      says: '`envelope` does not work with tokens',
    },
    {
      name: 'with tokens at an endpoint that has the envelope style',
      text: `${keys}  style: envelope\nendpoints: [{ identity: { accept: [tokens] } }]\n`,
      says: 'there are no tokens to accept',
    },
    {
      name: 'with a key file that does not exist',
      text: `${issuers}endpoints: [{ identity: { accept: [keys] } }]\n`,
      says: 'there are no keys to accept',
    },
    {
      name: 'with no accepted credentials',
      text: `${keys}endpoints: [{ identity: { accept: [] } }]\n`,
      says: 'for an open endpoint, `identity: none`',
    },
    {
      name: 'at an endpoint alone',
      text: 'endpoints: [{ identity: { style: challenge } }]\n',
      says: 'no `identity` at the top of the file that this endpoint could change',
    },
    {
      name: 'with keys at an endpoint for tokens',
      text: `${both}endpoints: [{ identity: { accept: [tokens], keys: { header: x-k } } }]\n`,
      says: '`keys` has no effect here',
    },
    {
      name: 'with an issuer over plain http',
      text: 'identity: { issuers: [{ issuer: http://login.example }] }\n',
      says: 'an https:// address',
    },
    {
      name: 'with an issuer that has a query',
      text: "identity: { issuers: [{ issuer: 'https://login.example?x' }] }\n",
      says: 'without ? and #',
    },
    {
      name: 'with the same issuer twice',
      text: 'identity: { issuers: [{ issuer: https://a.example }, { issuer: https://a.example }] }\n',
      says: 'in the list already',
    },
    {
      name: 'with a symmetric algorithm',
      text: 'identity: { issuers: [{ issuer: https://a.example, algorithms: [HS256] }] }\n',
      says: '`algorithms` has a wrong value',
    },
    {
      name: 'with no algorithm',
      text: 'identity: { issuers: [{ issuer: https://a.example, algorithms: [] }] }\n',
      says: 'at least one algorithm',
    },
    {
      name: 'with hours of tolerance',
      text: 'identity: { issuers: [{ issuer: https://a.example, clockToleranceMs: 1h }] }\n',
      says: '`clockToleranceMs` has a wrong value',
    },
    {
      name: 'with keys and introspection at once',
      text: 'identity: { issuers: [{ issuer: https://a.example, jwksUri: https://a.example/k, introspection: { url: https://a.example/i, clientId: a, clientSecret: b } }] }\n',
      says: '`jwksUri` has no effect here',
    },
    {
      name: 'with two issuers that need introspection',
      text: 'identity: { issuers: [{ issuer: https://a.example, introspection: { url: https://a.example/i, clientId: a, clientSecret: b } }, { issuer: https://b.example, introspection: { url: https://b.example/i, clientId: a, clientSecret: b } }] }\n',
      says: 'a second issuer with `introspection`',
    },
    {
      name: 'with a header that means something else',
      text: 'identity: { keys: { file: k, header: Mcp-Session-Id } }\n',
      says: 'a header that has no other meaning',
    },
    {
      name: 'with Authorization as the key header',
      text: 'identity: { keys: { file: k, header: authorization } }\n',
      says: 'a header that has no other meaning',
    },
    {
      name: 'with tokens in the query',
      text: 'identity: { keys: { file: k, query: access_token } }\n',
      says: 'a parameter that has no other meaning',
    },
    {
      name: 'with a scope that contains a space',
      text: `${keys}  scopes: { required: [a b] }\n`,
      says: 'a scope: visible characters',
    },
    {
      name: 'with offline_access',
      text: `${keys}  scopes: { required: [offline_access] }\n`,
      says: 'a scope other than `offline_access`',
    },
    {
      name: 'with a method that there is not',
      text: `${keys}  scopes: { methods: { tools/cal: [a] } }\n`,
      says: 'did you mean `tools/call`?',
    },
    {
      name: 'with a path in the public address',
      text: `${keys}  publicUrl: https://a.example/mcp\n`,
      says: 'scheme, host and port',
    },
    {
      name: 'with a port that does not exist',
      text: `${keys}  publicUrl: https://a.example:99999\n`,
      says: 'scheme, host and port',
    },
  ];
  test.each(rows)('$name', ({ text, says }) => expect(complaints(text)).toContain(says));

  test('without showing a secret', () => {
    const text =
      'identity: { issuers: [{ issuer: https://a.example, introspection: { url: nowhere, clientId: a, clientSecret: hush-hush } }] }\n';
    expect(complaints(text)).toContain('`url` has a wrong value');
    expect(complaints(text)).not.toContain('hush-hush');
  });
});

describe('an address for tokens', () => {
  const listen = (host: string) => buildListen({ host });
  test.each([
    { name: 'is known on this machine', text: issuers, host: '127.0.0.1', refused: false },
    { name: 'must be set when the gateway listens on the network', text: issuers, host: '0.0.0.0', refused: true },
    { name: 'was set', text: `${issuers}  publicUrl: https://a.example\n`, host: '0.0.0.0', refused: false },
    { name: 'is not needed for keys', text: keys, host: '0.0.0.0', refused: false },
  ])('$name', ({ text, host, refused }) => {
    const { identity } = read(text);
    expect(unreachable(identity!, listen(host)) !== undefined).toBe(refused);
  });
});
