import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOutside } from '../../../src/oauth/fetch/addresses.ts';
import { hostOf, TargetFilter } from '../../../src/oauth/fetch/targets.ts';
import { verifies } from '../../requirements/verifies.ts';

const INSIDE = [
  ...[
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
    '127.0.0.1',
  ],
  ...['127.255.255.254', '168.63.129.16', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1'],
  ...[
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.9',
    '224.0.0.1',
    '239.1.1.1',
  ],
  ...[
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::2',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
  ],
  ...[
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b::',
    '64:ff9b::1',
    '64:ff9b:1::808:808',
    '100::1',
  ],
  ...['2001::1', '2001:0:7f00:1::', '2001:10::1', '2001:db8::1', '2002:7f00:1::', '2002:a00:1::1', '2002:808:808::1'],
  ...[
    '2620:4f:8000::1',
    '3fff::1',
    '3fff:fff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
  ],
  ...['fec0::1', 'ff02::1', 'ff0e::1', '4000::1', '1fff::1', '2606:4700::1%lo', 'localhost', '', '127.1', '8.8.8'],
];
const OUTSIDE = [
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
  ],
  ...[
    '168.63.129.15',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
  ],
  ...['198.17.255.255', '198.20.0.0', '223.255.255.255', '2001:200::1', '2001:4860:4860::8888', '2606:4700:4700::1111'],
  ...['2003::1', '2a00:1450:4001::1', '3ffe::1', '64:ff9b::808:808', '64:ff9b::8.8.8.8'],
];

describe('an address', verifies('gateway:outward:address'), () => {
  it.each(INSIDE)('is internal, or invalid: %s', (address) => {
    expect(isOutside(address)).toBe(false);
  });

  it.each(OUTSIDE)('is outside: %s', (address) => {
    expect(isOutside(address)).toBe(true);
  });
});

const octet = fc.integer({ min: 0, max: 255 });
const inside = fc
  .tuple(fc.constantFrom('10', '127', '169.254', '192.168', '100.64', '172.16', '0', '224'), octet, octet, octet)
  .map(([start, ...rest]) => [...start.split('.').map(Number), ...rest].slice(0, 4));

/** All the ways in which a URL may have an IPv4 address. */
const spelled = fc
  .tuple(inside, fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }), fc.integer({ min: 1, max: 4 }))
  .map(([bytes, bases, parts]) => {
    const inBase = (value: number, base: number) =>
      base === 16 ? `0x${value.toString(16)}` : base === 8 ? `0${value.toString(8)}` : `${value}`;
    const single = bytes.slice(0, parts - 1);
    const last = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
    return [...single, last].map((value, i) => inBase(value, bases[i] ?? 10)).join('.');
  });
const hex = (high: number, low: number) => ((high << 8) | low).toString(16);
const wrapped = inside.chain(([a = 0, b = 0, c = 0, d = 0]) =>
  fc.constantFrom(
    `[::ffff:${a}.${b}.${c}.${d}]`,
    `[::ffff:${hex(a, b)}:${hex(c, d)}]`,
    `[0:0:0:0:0:FFFF:${hex(a, b)}:${hex(c, d)}]`,
    `[::${a}.${b}.${c}.${d}]`,
    `[64:ff9b::${a}.${b}.${c}.${d}]`,
    `[0064:ff9b:0:0:0:0:${hex(a, b)}:${hex(c, d)}]`,
    `[2002:${hex(a, b)}:${hex(c, d)}::1]`,
    `[2001:0:${hex(a, b)}:${hex(c, d)}::1]`,
  ),
);

describe('a URL that names an address inside', verifies('gateway:outward:address'), () => {
  const targets = new TargetFilter({ allowLoopback: false, allow: [], urlBytes: 2048 });

  it('is refused in every spelling', () => {
    fc.assert(
      fc.property(fc.oneof(spelled, wrapped), fc.constantFrom('', '.', ':8443', '/path'), (host, after) => {
        fc.pre(!(after === '.' && host.startsWith('[')));
        expect(() => targets.parse(`https://${host}${after}`)).toThrow(
          expect.objectContaining({ kind: 'address_forbidden' }),
        );
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    'https://①②⑦.⓪.⓪.①/',
    'https://127。0。0。1/',
    'https://%31%32%37.0.0.1/',
    'https://0177.1/',
    'https://2130706433/',
  ])('is refused as %s', (url) => {
    expect(() => targets.parse(url)).toThrow(expect.objectContaining({ kind: 'address_forbidden' }));
  });
});

describe('a URL', verifies('gateway:outward:address'), () => {
  const refused = [
    ...[
      'http://example.com/',
      'http://localhost/',
      'ftp://example.com/',
      'file:///etc/passwd',
      'data:,x',
      'javascript:1',
    ],
    ...[
      'https://user@example.com/',
      'https://user:pass@example.com/',
      'https://:pass@example.com/',
      'https://',
      'example.com',
      '',
    ],
    ...['https://example.com:22/', 'https://example.com:25/', 'https://example.com:6667/', 'https://example.com:0/'],
    ...['https://exa mple.com/', 'https://256.256.256.256/', `https://example.com/${'a'.repeat(2048)}`],
  ];
  it.each(refused)('is refused before anything is resolved: %s', (url) => {
    const strict = new TargetFilter({ allowLoopback: false, allow: [], urlBytes: 2048 });
    expect(() => strict.parse(url)).toThrow(expect.objectContaining({ kind: 'url_forbidden' }));
  });

  it('loses its fragment and keeps everything else', () => {
    const strict = new TargetFilter({ allowLoopback: false, allow: [], urlBytes: 2048 });
    expect(strict.parse('https://example.com:8443/a?b=c#d').href).toBe('https://example.com:8443/a?b=c');
  });

  const loopback = new TargetFilter({ allowLoopback: true, allow: [], urlBytes: 2048 });
  it.each([
    'http://localhost:1234/',
    'http://127.0.0.1:1234/',
    'http://[::1]:1234/',
    'http://app.localhost/',
    'https://127.9.9.9/',
  ])('may be loopback where that is allowed: %s', (url) => {
    const parsed = loopback.parse(url);
    expect(() => loopback.check(hostOf(parsed), ['127.0.0.1', '::1'])).not.toThrow();
  });

  it.each([
    'http://10.0.0.1/',
    'http://example.com/',
    'http://localhost.example.com/',
    'http://0.0.0.0/',
    'http://[::]/',
  ])('is not loopback by resembling it: %s', (url) => {
    expect(() => loopback.parse(url)).toThrow(expect.objectContaining({ kind: 'url_forbidden' }));
  });

  it('with a public name is refused when that leads to loopback, even where loopback is allowed', () => {
    expect(() => loopback.check('evil.example', ['127.0.0.1'])).toThrow(
      expect.objectContaining({ kind: 'address_forbidden' }),
    );
  });
});

describe('a configured allowlist', verifies('gateway:outward:address'), () => {
  const targets = new TargetFilter({
    allowLoopback: false,
    allow: ['IdP.corp.example', '10.1.0.0/16', 'fd00::/8', '192.168.7.7'],
    urlBytes: 2048,
  });
  const rows = [
    { name: 'a host, whatever its address', host: 'idp.corp.example', address: '10.9.9.9', allowed: true },
    { name: 'not its neighbours', host: 'x.idp.corp.example', address: '10.9.9.9', allowed: false },
    { name: 'a range, by any name', host: 'any.example', address: '10.1.2.3', allowed: true },
    { name: 'not an address beside the range', host: 'any.example', address: '10.2.0.0', allowed: false },
    { name: 'a range of IPv6', host: 'any.example', address: 'fd12::1', allowed: true },
    { name: 'a single address', host: '192.168.7.7', address: '192.168.7.7', allowed: true },
    { name: 'not the next one', host: '192.168.7.8', address: '192.168.7.8', allowed: false },
    { name: 'no invalid entry', host: 'idp.corp.example', address: 'nonsense', allowed: false },
  ];
  for (const { name, host, address, allowed } of rows) {
    it(name, () => {
      const check = () => targets.check(host, [address]);
      if (allowed) expect(check).not.toThrow();
      else expect(check).toThrow(expect.objectContaining({ kind: 'address_forbidden' }));
    });
  }

  it.each(['https://idp.example', 'a b', 'user@host', 'host:443', '10.0.0.0/99', '10.0.0.0/x'])(
    'is rejected at once if it is invalid: %s',
    (entry) => {
      expect(() => new TargetFilter({ allowLoopback: false, allow: [entry], urlBytes: 2048 })).toThrow();
    },
  );
});
