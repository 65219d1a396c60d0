import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readBackendAuth } from '../../src/config/credentials.ts';
import { ConfigDocument } from '../../src/config/document.ts';
import { ConfigError } from '../../src/config/problems.ts';

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ format: 'pem', type: 'pkcs8' })
  .toString();

function read(auth: string, beside = '') {
  const text = `backends:\n  files:\n    url: https://files.example/mcp\n${beside}${auth}`;
  const document = new ConfigDocument('bascule.yaml', text, 'yaml');
  const variables = { env: { SECRET: 'hush' }, predefined: {}, readFile: () => pem };
  const settings = readBackendAuth(document, ['backends', 'files', 'auth'], variables);
  if (document.problems.length > 0) throw new ConfigError(document.problems);
  return settings;
}

const auth = (inner: string) => `    auth: { type: oauth, ${inner} }\n`;

function complaints(inner: string, beside?: string): string {
  try {
    read(auth(inner), beside);
  } catch (error) {
    if (error instanceof ConfigError) return error.format();
    throw error;
  }
  throw new Error('this config was accepted');
}

describe('auth of a backend', () => {
  test('without settings is per user', () => {
    expect(read('')).toBeUndefined();
    expect(read('    auth: { type: oauth }\n')).toEqual({ grant: 'authorization_code', shared: false });
  });

  const good = [
    {
      name: 'a client that was registered beforehand',
      inner: `clientId: gate, clientSecret: '\${SECRET}', issuer: https://login.example, scopes: [a, b], shared: true`,
      settings: {
        grant: 'authorization_code',
        clientId: 'gate',
        clientSecret: 'hush',
        issuer: 'https://login.example',
        scopes: ['a', 'b'],
        shared: true,
      },
    },
    {
      name: 'authorization servers inside',
      inner:
        "authorizationServers: ['http://127.0.0.1:9000/', 'HTTPS://Login.Internal:443', 'http://[::1]:*', 'https://a.b:*']",
      settings: {
        grant: 'authorization_code',
        authorizationServers: ['http://127.0.0.1:9000', 'https://login.internal', 'http://[::1]:*', 'https://a.b:*'],
        shared: false,
      },
    },
    {
      name: 'a machine with a key',
      inner: `grant: client_credentials, clientId: robot, privateKey: '\${file:/run/secrets/key}'`,
      settings: { grant: 'client_credentials', clientId: 'robot', privateKey: pem.trim(), shared: false },
    },
    {
      name: 'an exchange',
      inner: 'grant: token_exchange, issuer: https://login.example, audience: api, resource: https://files.example',
      settings: {
        grant: 'token_exchange',
        issuer: 'https://login.example',
        audience: 'api',
        resource: 'https://files.example',
        shared: false,
      },
    },
    {
      name: 'an identity assertion',
      inner:
        'grant: identity_assertion, issuer: https://login.example, clientId: gate, identityProvider: { issuer: https://home.example, clientId: x }',
      settings: {
        grant: 'identity_assertion',
        issuer: 'https://login.example',
        clientId: 'gate',
        identityProvider: { issuer: 'https://home.example', clientId: 'x', subjectTokenType: 'access_token' },
        shared: false,
      },
    },
  ];
  test.each(good)('$name', ({ inner, settings }) => {
    expect(read(auth(inner))).toEqual(settings);
  });

  const bad = [
    { inner: 'grant: password', says: 'one of: authorization_code' },
    { inner: 'issuers: x', says: 'unknown key `issuers`' },
    { inner: 'clientSecret: x', says: '`clientSecret` has no effect here' },
    { inner: 'clientId: x, clientMetadataUrl: https://a.example/c', says: '`clientMetadataUrl` has no effect here' },
    { inner: 'clientMetadataUrl: https://a.example', says: 'with a path' },
    { inner: 'clientId: x, privateKey: nonsense', says: 'a private key in PEM' },
    { inner: 'grant: client_credentials', says: '`clientId` is missing' },
    { inner: 'grant: client_credentials, clientId: x', says: 'with this grant the client must authenticate' },
    { inner: 'grant: token_exchange', says: '`issuer` is missing' },
    { inner: 'grant: token_exchange, issuer: https://a.example, shared: true', says: 'cannot be shared' },
    {
      inner: 'grant: identity_assertion, issuer: https://a.example, clientId: x',
      says: '`identityProvider` is missing',
    },
    { inner: 'audience: x', says: '`audience` has no effect here' },
    { inner: 'issuer: http://login.example', says: 'an https:// address' },
    ...[
      'http://login.example',
      'http://10.0.0.1:*',
      'https://a.example/path',
      'https://u:p@a.example',
      '127.0.0.1',
    ].map((server) => ({
      inner: `authorizationServers: ['${server}']`,
      says: 'the origin of an authorization server',
    })),
    ...['https://*.internal', 'https://*', 'https://login.*:*', 'http://127.0.0.*:9000'].map((server) => ({
      inner: `authorizationServers: ['${server}']`,
      says: 'an origin whose host is written out: `*` stands for a port alone',
    })),
    { inner: 'authorizationServers: https://a.example', says: 'a list of origins' },
    { inner: 'scopes: [offline_access]', says: 'a scope other than `offline_access`' },
    { inner: 'resource: https://a.example#b', says: 'without #' },
  ];
  test.each(bad)('{ $inner } is rejected: $says', ({ inner, says }) => {
    expect(complaints(inner)).toContain(says);
  });

  test('excludes a configured Authorization header', () => {
    expect(complaints('shared: false', '    headers: { Authorization: x }\n')).toContain('both `auth`');
  });

  test('shows no secret in its errors', () => {
    expect(complaints(`clientSecret: '\${SECRET}'`)).not.toContain('hush');
  });
});
