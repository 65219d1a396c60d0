/** Consents that nobody could ever give are found before anything starts. */
import { describe, expect, test } from 'vitest';
import { complaintsAbout, configOf } from './loading.ts';

const files = (auth: string) =>
  `backends: { files: { url: 'https://files.example/mcp', auth: { type: oauth${auth} } } }\n`;
const shared = files(', shared: true');
const keys = (more: string) => `identity: { keys: { file: keys.json }${more} }\n`;

describe('one account for all', () => {
  test.each([
    { name: 'behind a public address', text: `${shared}${keys(', publicUrl: https://gate.example')}` },
    { name: 'on all addresses', text: `${shared}${keys('')}listen: { host: 0.0.0.0 }\n` },
  ])('is refused $name: nobody could agree', ({ text }) => {
    const said = complaintsAbout(text);
    expect(said).toContain('nobody could agree for all');
    expect(said).toContain('grant: client_credentials');
  });

  test.each([
    { name: 'on this machine', text: `${shared}${keys('')}` },
    { name: 'at an address of this machine', text: `${shared}${keys(", publicUrl: 'http://[::1]:8808'")}` },
    {
      name: 'anywhere, where nobody has to agree',
      text: `${files(', grant: client_credentials, clientId: a, clientSecret: b, shared: true')}${keys(', publicUrl: https://gate.example')}`,
    },
  ])('is taken $name', ({ text }) => {
    expect(configOf(text).backends).toHaveLength(1);
  });
});

describe('people with tokens of an issuer without `signIn`', () => {
  const issuers = 'issuers: [{ issuer: https://login.example }]';
  const own = 'publicUrl: https://gate.example, authServer: { users: users.json }';
  test.each([
    { name: 'are told of', identity: issuers, instead: '`shared: true`' },
    {
      name: 'are told of beside our own authorization server',
      identity: `${own}, ${issuers}`,
      instead: '`grant: client_credentials`',
    },
  ])('$name', ({ identity, instead }) => {
    const said = complaintsAbout(`${files('')}identity: { ${identity} }\n`);
    expect(said).toContain('tokens of https://login.example cannot show in a browser who they are');
    expect(said).toContain(instead);
  });

  test('are none where there is our own authorization server alone', () => {
    expect(configOf(`${files('')}identity: { ${own} }\n`).backends).toHaveLength(1);
  });
});
