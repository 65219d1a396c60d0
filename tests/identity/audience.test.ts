import { describe, expect, test } from 'vitest';
import { audienceClaim, audiences, canonicalAudience, checkAudience } from '../../src/identity/audience.ts';

const ours = audiences(['https://mcp.example/mcp', 'api://bascule']);
const verdict = (aud: unknown, mayBeAbsent = false) =>
  checkAudience(audienceClaim(aud), { ours, mayBeAbsent })?.reason ?? 'ours';

describe('an audience is accepted', () => {
  const rows = [
    { name: 'as it is', aud: 'https://mcp.example/mcp' },
    { name: 'in other letters', aud: 'HTTPS://MCP.Example/mcp' },
    { name: 'with the default port', aud: 'https://mcp.example:443/mcp' },
    { name: 'with an empty port', aud: 'https://mcp.example:/mcp' },
    { name: 'with one slash at its end', aud: 'https://mcp.example/mcp/' },
    { name: 'among others', aud: ['https://other.example', 'https://mcp.example/mcp'] },
    { name: 'beside an invalid one', aud: [7, null, {}, 'https://mcp.example/mcp'] },
    { name: 'by a configured name that is no address', aud: 'api://bascule' },
  ];
  test.each(rows)('$name', ({ aud }) => expect(verdict(aud)).toBe('ours'));
});

describe('an audience is rejected', () => {
  const rows = [
    { name: 'a sibling path', aud: 'https://mcp.example/mcp2' },
    { name: 'a child path', aud: 'https://mcp.example/mcp/child' },
    { name: 'the parent', aud: 'https://mcp.example' },
    { name: 'two slashes at the end', aud: 'https://mcp.example/mcp//' },
    { name: 'a path in other letters', aud: 'https://mcp.example/MCP' },
    { name: 'dots that lead to our path', aud: 'https://mcp.example/x/../mcp' },
    { name: 'an escaped letter', aud: 'https://mcp.example/%6dcp' },
    { name: 'backslashes', aud: 'https:\\\\mcp.example\\mcp' },
    { name: 'a line break inside', aud: 'https://mcp.exa\nmple/mcp' },
    { name: 'another scheme', aud: 'http://mcp.example/mcp' },
    { name: 'another port', aud: 'https://mcp.example:8443/mcp' },
    { name: 'a port that does not exist', aud: 'https://mcp.example:99999/mcp' },
    { name: 'letters in the port', aud: 'https://mcp.example:44e3/mcp' },
    { name: 'a user before the host', aud: 'https://mcp.example@evil.example/mcp' },
    { name: 'a query', aud: 'https://mcp.example/mcp?x' },
    { name: 'a fragment', aud: 'https://mcp.example/mcp#x' },
    { name: 'a name in other letters', aud: 'API://bascule' },
    { name: 'empty text', aud: '' },
    { name: 'a number', aud: 7 },
    { name: 'an object', aud: { '0': 'https://mcp.example/mcp' } },
    { name: 'a list in a list', aud: [['https://mcp.example/mcp']] },
  ];
  test.each(rows)('$name', ({ aud }) => {
    expect(verdict(aud)).toBe('audience_mismatch');
    // Vouching for an issuer is about tokens that say nothing, not about those that say something else.
    expect(verdict(aud, true)).toBe('audience_mismatch');
  });
});

describe('no audience', () => {
  test.each([{ aud: undefined }, { aud: null }, { aud: [] }])('$aud is refused unless vouched for', ({ aud }) => {
    expect(verdict(aud)).toBe('audience_missing');
    expect(verdict(aud, true)).toBe('ours');
  });
});

describe('the canonical form', () => {
  test.each([
    { text: 'https://Mcp.Example:0443/', canonical: 'https://mcp.example' },
    { text: 'http://[::1]:80/mcp', canonical: 'http://[::1]/mcp' },
    { text: 'http://localhost:65535', canonical: 'http://localhost:65535' },
    { text: 'http://localhost:65536', canonical: undefined },
    { text: 'mcp.example', canonical: undefined },
    { text: 'ftp://mcp.example', canonical: undefined },
    { text: 'https://', canonical: undefined },
    { text: 'https:///mcp', canonical: undefined },
  ])('of $text', ({ text, canonical }) => expect(canonicalAudience(text)).toBe(canonical));
});
