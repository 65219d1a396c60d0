import { describe, expect, test } from 'vitest';
import { readAddress } from '../../src/policy/addresses.ts';
import { policyWith, read, told } from './setup.ts';

describe('an address is ambiguous', () => {
  test.each([
    { name: 'with a tab inside', uri: 'http://ho\tst/x' },
    { name: 'with a line feed inside', uri: 'http://host/a\nb' },
    { name: 'with a carriage return inside', uri: 'http://host\r/x' },
    { name: 'with a tab in its scheme', uri: 'ht\ttp://host/x' },
    { name: 'with a space before it', uri: ' http://host/x' },
    { name: 'with a space after it', uri: 'http://host/x ' },
    { name: 'of a file without slashes', uri: 'file:x' },
    { name: 'of the web without slashes', uri: 'http:host' },
    { name: 'of the web with one slash', uri: 'http:/host' },
    { name: 'of the web with three slashes', uri: 'http:///host' },
    { name: 'with a decimal host', uri: 'http://2130706433/' },
    { name: 'with a hexadecimal host', uri: 'http://0x7f000001/' },
    { name: 'with an octal part of the host', uri: 'http://0177.0.0.1/' },
    { name: 'with a short host', uri: 'http://127.1/' },
    { name: 'with a dot after the host', uri: 'http://host./x' },
    { name: 'with full-width digits in the host', uri: 'http://１２７.0.0.1/' },
    { name: 'with a full-width dot in the host', uri: 'http://127。0.0.1/' },
    { name: 'with a soft hyphen in the host', uri: 'http://ex\u00adample/' },
    { name: 'with a long s in the host', uri: 'http://ſecret/' },
    { name: 'with a percent sign in the host', uri: 'http://%65xample/' },
    { name: 'with a long form of an IPv6 address', uri: 'http://[0:0:0:0:0:0:0:1]/' },
    { name: 'with a zero before the port', uri: 'http://host:080/' },
    { name: 'with an invalid port', uri: 'note://host:abc/' },
    { name: 'with a backslash before an @', uri: 'http://good\\@evil/' },
    { name: 'with backslashes for slashes', uri: 'http:\\\\host\\x' },
    { name: 'with a drive that has a bar', uri: 'file:///C|/x' },
    { name: 'with a drive for a host', uri: 'file://C:/x' },
    { name: 'with a host that cannot be parsed', uri: 'http://a b/' },
    { name: 'with an encoded NUL in its path', uri: 'file:///a%00b' },
    { name: 'with a control character in its path, encoded twice', uri: 'file:///a%250ab' },
    { name: 'that is encoded four times', uri: 'file:///%2525252561' },
    { name: 'behind another scheme', uri: 'jar:http:/host' },
    { name: 'behind the name of a backend', uri: 'bascule:a/http:/host' },
    { name: 'that is too long', uri: `file:///${'a'.repeat(4_096)}` },
  ])('$name', ({ uri }) => {
    expect(readAddress(uri).isAmbiguous).toBe(true);
  });
});

describe('an address is not ambiguous', () => {
  test.each([
    'http://host/x',
    'http://host',
    'HTTP://Host/x',
    'http://host:80/x',
    'http://host:8080/x?a=b//c#d',
    'http://user:pass@host/x',
    'http://[::1]:8080/x',
    'http://127.0.0.1/x',
    'http://münchen.example/straße',
    'http://MÜNCHEN.example/',
    'http://host/with space',
    'http://host/größe/ä ö',
    'http://host/a%20b/%2573',
    'http://host/?q=a%0Ab',
    'file:///a b/ü',
    'file:///C:/x',
    'file:/a',
    'file://localhost/a',
    'file://server/share/x',
    'note://my note/with space',
    'users://123/profile',
    'demo://Some/Thing',
    'memo://m%C3%BCller/x',
    'urn:isbn:0451450523',
    'db:table',
    'jdbc:mysql://host:3306/db',
    'data:text/plain,hello world',
    'git+ssh://git@host/repo.git',
    'a/b',
    'ab',
  ])('%s', (uri) => {
    expect(readAddress(uri).isAmbiguous).toBe(false);
  });
});

describe('a rule that denies one address', () => {
  const policy = policyWith(`- { id: all, effect: allow }
- { id: page, effect: deny, on: { uris: ['http://host/page'] } }
- { id: folder, effect: deny, on: { uris: ['http://host/folder/'] } }
- { id: below, effect: deny, on: { uris: ['http://host/below/**'] } }
- { id: keys, effect: deny, on: { uris: ['**.key'] } }
- { id: city, effect: deny, on: { uris: ['http://münchen.example/**'] } }
- { id: upper, effect: deny, on: { uris: ['HTTP://Upper/a%20b'] } }
- { id: named, effect: deny, what: [read], when: "name == 'http://host/named'" }`);

  test.each([
    { uri: 'http://host/page?', rule: 'page' },
    { uri: 'http://host/page?a=/b', rule: 'page' },
    { uri: 'http://host/page#', rule: 'page' },
    { uri: 'http://host/page/', rule: 'page' },
    { uri: 'http://host/page;v=1', rule: 'page' },
    { uri: 'http://host/page/?x', rule: 'page' },
    { uri: 'http://host:80/page', rule: 'page' },
    { uri: 'http://me@host/page', rule: 'page' },
    { uri: 'http://host/%2570age', rule: 'page' },
    { uri: 'http://host/%252570age', rule: 'page' },
    { uri: 'http://host/folder', rule: 'folder' },
    { uri: 'http://host/below', rule: 'below' },
    { uri: 'http://host/a.key?', rule: 'keys' },
    { uri: 'http://host/a.key/', rule: 'keys' },
    { uri: 'http://xn--mnchen-3ya.example/x', rule: 'city' },
    { uri: 'http://MÜNCHEN.example/x', rule: 'city' },
    { uri: 'http://upper/a b', rule: 'upper' },
    { uri: 'http://host/named?', rule: 'named' },
  ])('holds for $uri', ({ uri, rule }) => {
    expect(told(policy, read(uri)).split(' ')).toEqual(expect.arrayContaining(['deny', rule]));
  });

  test.each(['http://host/pages', 'http://host/other?at=http://host/page', 'http://münchen2.example/x'])(
    'does not hold for %s',
    (uri) => {
      expect(told(policy, read(uri))).toBe('allow all');
    },
  );
});

describe('a rule that denies an address of a scheme that is not of the web', () => {
  const policy = policyWith(`- { id: all, effect: allow }
- { id: no, effect: deny, on: { uris: ['notes:///x/**', 'page:/x/**', 'doc:x/**', 'memo://x/**', 'tags:///a:B/**'] } }
- { id: db, effect: deny, on: { uris: ['jdbc:mysql://host/**', 'queue:///one\\?id=1'] } }
- { id: whole, effect: deny, on: { uris: ['all:**'] } }
- { id: web, effect: deny, on: { uris: ['http:///x/**', 'https://host/**'] } }`);

  const schemes = ['notes', 'page', 'doc'];
  test.each([
    ...schemes.flatMap((scheme) => ['///', '/', '', '//any/', '//me@any:1/'].map((sign) => `${scheme}:${sign}x/a`)),
    ...['memo://me@x:1/a', 'memo:///x/a', 'memo:/x/a', 'memo:x/a', 'memo://X:1', 'tags:a:B/c', 'TAGS:a:B/c'],
    ...['notes:../x/a', 'queue://any/one?id=1#f', 'jdbc:mysql://host:3306/a', 'all:a', 'all://a', 'all:///a'],
  ])('holds for %s', (uri) => {
    expect(told(policy, read(uri))).toMatch(/^deny/);
  });

  test.each([
    ...['memo://public/x/a', 'notes://x/a', 'notes://public/a', 'notes:a/x/a', 'queue://any/one?id=2', 'x/a', 'n:x/a'],
    ...['jdbc:mysql://other/host/a', 'http://host/x/a', 'https://host:8443/x', 'https://other/host/x', 'urn:x:a'],
  ])('does not hold for %s', (uri) => {
    expect(told(policy, read(uri))).toBe('allow all');
  });
});

describe('a rule that allows', () => {
  const policy =
    policyWith(`- { id: host, effect: allow, on: { uris: ['http://host/**', 'http://münchen.example/**'] } }
- { id: one, effect: allow, on: { uris: ['http://other/page?id=1', 'file:///a%20b', 'repo://a%2Fb/c%20d'] } }`);

  const plain = [
    'http://host/a b',
    'http://münchen.example/ü',
    'http://other/page?id=1',
    'file:///a%20b',
    'repo://a%2Fb/c%20d',
  ];
  test.each(plain)('holds for %s, which has one reading', (uri) => {
    expect(told(policy, read(uri))).toMatch(/^allow/);
  });

  test.each(['http:/host/x', 'http://host\\x', 'http://host./x', 'http://host/..%00/x', 'http://other/page'])(
    'does not hold for %j',
    (uri) => {
      expect(told(policy, read(uri))).toBe('deny');
    },
  );
});
