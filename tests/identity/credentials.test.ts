import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { findCredential, withoutKey } from '../../src/identity/credentials.ts';
import { carrying } from './support.ts';

const places = { keyHeader: 'x-access-key', keyQuery: 'key' };
type Pairs = readonly (readonly [string, string])[];

function found(headers: Pairs, url?: string, where: object = places): unknown {
  const credential = findCredential(carrying(headers, url), where);
  if (credential instanceof Failure) return credential.reason;
  return credential.kind === 'bearer' ? { kind: 'bearer', text: credential.text } : credential;
}

describe('credentials are found', () => {
  const rows: { name: string; headers: Pairs; url?: string; where?: object; expected: unknown }[] = [
    { name: 'nowhere', headers: [], expected: { kind: 'none' } },
    {
      name: 'as a bearer token',
      headers: [['Authorization', 'Bearer a.b-c_~+/==']],
      expected: { kind: 'bearer', text: 'a.b-c_~+/==' },
    },
    {
      name: 'in any case of scheme and name',
      headers: [['AUTHORIZATION', 'bEARER   t']],
      expected: { kind: 'bearer', text: 't' },
    },
    { name: 'in the header of the endpoint', headers: [['X-Access-Key', ' k ']], expected: { kind: 'key', text: 'k' } },
    { name: 'in the query', headers: [], url: '/mcp?a=1&k%65y=k%2B1', expected: { kind: 'key', text: 'k+1' } },
    {
      name: 'not in a header that was not named',
      headers: [['x-access-key', 'k']],
      where: {},
      expected: { kind: 'none' },
    },
    {
      name: 'not in a query that was not opted in',
      headers: [],
      url: '/mcp?key=k',
      where: {},
      expected: { kind: 'none' },
    },
    { name: 'not as a token in the query', headers: [], url: '/mcp?access_token=t', expected: { kind: 'none' } },
    { name: 'not in another scheme', headers: [['Authorization', 'Basic eDp5']], expected: { kind: 'none' } },
    {
      name: 'not in a scheme that only begins alike',
      headers: [['Authorization', 'BearerX t']],
      expected: { kind: 'none' },
    },
    {
      name: 'beside another scheme',
      headers: [
        ['Authorization', 'Basic eDp5'],
        ['x-access-key', 'k'],
      ],
      expected: { kind: 'key', text: 'k' },
    },
    { name: 'not in an empty key header', headers: [['x-access-key', '']], expected: { kind: 'none' } },
  ];
  test.each(rows)('$name', ({ headers, url, where, expected }) => expect(found(headers, url, where)).toEqual(expected));
});

describe('credentials are refused', () => {
  const rows: { name: string; headers: Pairs; url?: string; expected: string }[] = [
    { name: 'an empty bearer', headers: [['Authorization', 'Bearer']], expected: 'token_invalid' },
    { name: 'a bearer with a space', headers: [['Authorization', 'Bearer a b']], expected: 'token_invalid' },
    { name: 'bytes that no token has', headers: [['Authorization', 'Bearer a,b']], expected: 'token_invalid' },
    { name: 'letters beyond ASCII', headers: [['Authorization', 'Bearer \u00e9']], expected: 'token_invalid' },
    {
      name: 'Authorization twice',
      headers: [
        ['Authorization', 'Bearer a'],
        ['authorization', 'Bearer b'],
      ],
      expected: 'credentials_ambiguous',
    },
    {
      name: 'Authorization twice, once with another scheme',
      headers: [
        ['Authorization', 'Basic a'],
        ['authorization', 'Bearer b'],
      ],
      expected: 'credentials_ambiguous',
    },
    {
      name: 'the key header twice',
      headers: [
        ['x-access-key', 'a'],
        ['X-ACCESS-KEY', 'a'],
      ],
      expected: 'credentials_ambiguous',
    },
    { name: 'the key parameter twice', headers: [], url: '/mcp?key=a&key=a', expected: 'credentials_ambiguous' },
    {
      name: 'a bearer and a key',
      headers: [
        ['Authorization', 'Bearer a'],
        ['x-access-key', 'a'],
      ],
      expected: 'credentials_ambiguous',
    },
    {
      name: 'a header and a parameter',
      headers: [['x-access-key', 'a']],
      url: '/mcp?key=a',
      expected: 'credentials_ambiguous',
    },
  ];
  test.each(rows)('$name', ({ headers, url, expected }) => expect(found(headers, url)).toBe(expected));
});

describe('an address without its key', () => {
  test.each([
    { url: '/mcp', without: '/mcp' },
    { url: '/mcp?key=k', without: '/mcp' },
    { url: '/mcp?a=%20&key=k&b', without: '/mcp?a=%20&b' },
    { url: '/mcp?k%65y=k&key&b=key', without: '/mcp?b=key' },
    { url: '/mcp??key=k', without: '/mcp??key=k' },
    { url: '/mcp?keys=k', without: '/mcp?keys=k' },
  ])('of $url', ({ url, without }) => {
    expect(withoutKey(url, 'key')).toBe(without);
    // What is left does not hold it any more.
    expect(found([], withoutKey(url, 'key'))).toEqual({ kind: 'none' });
  });
});
