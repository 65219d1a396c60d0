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
  ])('is rejected $name: no one could consent', ({ text }) => {
    const said = complaintsAbout(text);
    expect(said).toContain('consent for a shared account must be given in a browser on this machine');
    expect(said).toContain('grant: client_credentials');
  });

  test.each([
    { name: 'on this machine', text: `${shared}${keys('')}` },
    { name: 'at an address of this machine', text: `${shared}${keys(", publicUrl: 'http://[::1]:8808'")}` },
    {
      name: 'anywhere, if consent is not needed',
      text: `${files(', grant: client_credentials, clientId: a, clientSecret: b, shared: true')}${keys(', publicUrl: https://gate.example')}`,
    },
  ])('is accepted $name', ({ text }) => {
    expect(configOf(text).backends).toHaveLength(1);
  });
});

describe('users with tokens of an issuer without `signIn`', () => {
  const issuers = 'issuers: [{ issuer: https://login.example }]';
  const own = 'publicUrl: https://gate.example, authServer: { users: users.json }';
  test.each([
    { name: 'are reported', identity: issuers, instead: '`shared: true`' },
    {
      name: 'are reported beside the gateway’s own authorization server',
      identity: `${own}, ${issuers}`,
      instead: '`grant: client_credentials`',
    },
  ])('$name', ({ identity, instead }) => {
    const said = complaintsAbout(`${files('')}identity: { ${identity} }\n`);
    expect(said).toContain('people with tokens of https://login.example cannot sign in on the consent page');
    expect(said).toContain(instead);
  });

  test('are not reported if the gateway’s own authorization server is the only issuer', () => {
    expect(configOf(`${files('')}identity: { ${own} }\n`).backends).toHaveLength(1);
  });
});
