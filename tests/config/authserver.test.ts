import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { verifies } from '../requirements/verifies.ts';

function load(text: string, env: Readonly<Record<string, string>> = {}) {
  const readFile = (path: string) => (path === '/project/bascule.yaml' ? text : undefined);
  return loadConfig({ path: 'bascule.yaml', cwd: '/project', env, readFile }).config;
}

function complaint(text: string): string {
  try {
    load(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.format();
    throw error;
  }
  throw new Error('this config was accepted');
}

const backends = 'backends: {}\n';
const on = `${backends}identity:\n  authServer: { users: users.json }\n`;

describe(
  'identity.authServer',
  verifies('gateway:authserver:off', 'gateway:authserver:recipe', 'gateway:authserver:company'),
  () => {
    test('is not there unless it is named', () => {
      expect(load(backends)).not.toHaveProperty('authServer');
    });

    test('needs only the users, and issues tokens that every endpoint accepts', () => {
      const config = load(on);
      expect(config.authServer).toEqual({
        userFile: '/project/users.json',
        scopes: {},
        tokenTtlMs: 900_000,
        refreshTtlMs: 2_592_000_000,
        registration: 'open',
        metadataDocuments: true,
        allowAddresses: [],
      });
      for (const { identity } of config.endpoints) expect(identity).toMatchObject({ kind: 'guarded', tokens: true });
    });

    test('can set everything', () => {
      const { authServer, store } = load(`${backends}
identity:
  publicUrl: https://mcp.example
  authServer:
    users: /etc/bascule/users.json
    scopes: { 'tools:call': Call tools }
    tokenTtlMs: 5min
    refreshTtlMs: 7d
    registration: off
    metadataDocuments: false
    allowAddresses: [clients.internal, 10.0.0.0/8, 'fd00::/8', 192.168.1.1]
store: { dir: state }
`);
      expect(authServer).toEqual({
        userFile: '/etc/bascule/users.json',
        scopes: { 'tools:call': 'Call tools' },
        tokenTtlMs: 300_000,
        refreshTtlMs: 604_800_000,
        registration: 'off',
        metadataDocuments: false,
        allowAddresses: ['clients.internal', '10.0.0.0/8', 'fd00::/8', '192.168.1.1'],
      });
      expect(store.dir).toBe('/project/state');
    });

    test('can name a provider in place of the users', () => {
      const provider =
        '{ issuer: https://id.example/staff, clientId: c, clientSecret: s, require: { hd: example.com } }';
      expect(load(`${backends}identity: { authServer: { provider: ${provider} } }\n`).authServer).toMatchObject({
        company: {
          ...{ issuer: 'https://id.example/staff', clientId: 'c', clientSecret: 's', name: 'id.example' },
          ...{ parameters: {}, groupsClaim: 'groups', require: { hd: ['example.com'] } },
        },
      });
    });

    const wrong = [
      { name: 'no users', text: 'authServer: {}', says: '`users`' },
      {
        name: 'users and a provider',
        text: 'authServer: { users: u, provider: { issuer: https://id.example, clientId: c } }',
        says: 'in two ways',
      },
      {
        name: 'a provider over plain http',
        text: 'authServer: { provider: { issuer: http://id.example, clientId: c } }',
        says: 'https://',
      },
      {
        name: 'scopes without openid',
        text: 'authServer: { provider: { issuer: https://id.example, clientId: c, scopes: [profile] } }',
        says: '`openid`',
      },
      { name: 'an unknown setting', text: 'authServer: { users: u, user: x }', says: 'did you mean `users`?' },
      { name: 'a token that never ends', text: 'authServer: { users: u, tokenTtlMs: 2d }', says: 'tokenTtlMs' },
      {
        name: 'proxies, which are a matter of `listen`',
        text: 'authServer: { users: u, trustedProxies: [] }',
        says: 'trustedProxies',
      },
      { name: 'an invalid address', text: 'authServer: { users: u, allowAddresses: [10.0.0.0/33] }', says: 'CIDR' },
      { name: 'a scope with a space', text: "authServer: { users: u, scopes: { 'a b': x } }", says: 'a scope' },
      {
        name: 'passwords over plain http',
        text: 'publicUrl: http://mcp.example\n  authServer: { users: u }',
        says: 'passwords would be sent over plain http',
      },
      { name: 'errors in the envelope style', text: 'style: envelope\n  authServer: { users: u }', says: '401' },
    ];
    test.each(wrong)('with $name is reported with its place', ({ text, says }) => {
      const told = complaint(`${backends}identity:\n  ${text}\n`);
      expect(told).toContain(says);
      expect(told).toMatch(/^bascule\.yaml:\d+:\d+: /);
    });

    test('beyond this machine needs the address that clients use', () => {
      expect(complaint(`${on}listen: { host: 0.0.0.0 }\n`)).toContain('publicUrl');
    });

    test('keeps its paths to itself', () => {
      for (const path of ['/oauth/token', '/oauth/interaction/x']) {
        const told = complaint(`${on}endpoints: [{ path: ${path} }]\n`);
        expect(told).toContain('the bundled authorization server uses this path');
      }
      expect(load(`${on}endpoints: [{ path: /oauth/other }]\n`).endpoints).toHaveLength(1);
    });
  },
);

describe('store.dir', verifies('gateway:authserver:durable'), () => {
  test('is where state belongs, and another one for each config', () => {
    const { dir } = load(backends, { HOME: '/home/ada' }).store;
    expect(dir).toMatch(/^\/home\/ada\/\.local\/state\/bascule\/[0-9a-f]{12}$/);
    expect(load(backends, { HOME: '/home/ada', XDG_STATE_HOME: '/var/state' }).store.dir).toMatch(
      /^\/var\/state\/bascule\/[0-9a-f]{12}$/,
    );
    expect(load(backends).store.dir).toBe('/project/.bascule');
  });
});
