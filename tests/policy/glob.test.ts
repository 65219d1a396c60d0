import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAddress } from '../../src/policy/addresses.ts';
import { compileGlob, type GlobStyle } from '../../src/policy/glob.ts';
import { NameSet } from '../../src/policy/names.ts';

function glob(pattern: string, style: GlobStyle) {
  const compiled = compileGlob(pattern, style);
  if (typeof compiled === 'string') throw new Error(compiled);
  return compiled;
}

const cases: readonly {
  readonly pattern: string;
  readonly style: GlobStyle;
  readonly yes: readonly string[];
  readonly no: readonly string[];
}[] = [
  { pattern: '*', style: 'name', yes: ['', 'a', 'a/b'], no: [] },
  { pattern: '*', style: 'path', yes: ['', 'a', 'a/b', '../x'], no: [] },
  { pattern: 'files_*', style: 'name', yes: ['files_', 'files_a/b'], no: ['file_', 'xfiles_'] },
  { pattern: '*_delete', style: 'name', yes: ['_delete', 'a/b_delete'], no: ['delete', '_deleted'] },
  { pattern: 'a*c', style: 'name', yes: ['ac', 'abc', 'acc'], no: ['a', 'c', 'abcd'] },
  { pattern: 'aa*aa', style: 'name', yes: ['aaaa', 'aaaaa'], no: ['aa', 'aaa'] },
  { pattern: 'a?c', style: 'name', yes: ['abc', 'a/c'], no: ['ac', 'abbc'] },
  { pattern: 'a\\*', style: 'name', yes: ['a*'], no: ['ab', 'a'] },
  { pattern: '/srv/*', style: 'path', yes: ['/srv/', '/srv/a'], no: ['/srv', '/srv/a/b'] },
  { pattern: '/srv/**', style: 'path', yes: ['/srv/', '/srv/a/b', '/srv/a..b', '/srv/...'], no: ['/srv', '/srvx'] },
  { pattern: '/srv/**/x', style: 'path', yes: ['/srv/a/x', '/srv/a/b/x'], no: ['/srv/x', '/srv/a/x/y'] },
  { pattern: '/a?c', style: 'path', yes: ['/abc'], no: ['/a/c'] },
  { pattern: '**/*.md', style: 'path', yes: ['/a.md', 'a/b.md'], no: ['a.md', 'a/b.mdx'] },
];

describe('a pattern', () => {
  for (const { pattern, style, yes, no } of cases) {
    test(`${pattern} in a ${style}`, () => {
      for (const text of yes) expect([text, glob(pattern, style).matches(text)]).toEqual([text, true]);
      for (const text of no) expect([text, glob(pattern, style).matches(text)]).toEqual([text, false]);
    });
  }

  test('is undecided about a path with dot segments', () => {
    const climbing = ['/srv/../etc', '/srv/..', '/srv/a/..\\b', '/srv/%2e%2e/etc', '/srv/.%2E%2fetc', '/srv/..;/etc'];
    for (const text of climbing) expect([text, glob('/srv/**', 'path').matches(text)]).toEqual([text, undefined]);
    expect(glob('/srv/*/x**', 'path').matches('/srv/../x')).toBeUndefined();
  });

  test.each(['/srv/**', '/srv/x', '**.md', '/srv/*/x**', '**srv**', '/home/*'])(
    'is undecided about a path that may lead elsewhere: %s',
    (pattern) => {
      const unclear = [
        '/etc/../srv/x',
        '/./srv/x',
        '/srv/.',
        '//srv/x',
        '/a//srv/x',
        '/a\\../srv',
        '../srv/x',
        '/a/\\b',
      ];
      for (const text of unclear) expect([text, glob(pattern, 'path').matches(text)]).toEqual([text, undefined]);
      for (const text of unclear) expect([text, new NameSet([pattern], 'path').has(text)]).toEqual([text, 'failed']);
      const clear = ['/a/.b', '/a/b.', '/a..b', 'https://a/b', 'https://a/?of=https://b//c', 'jdbc:mysql://a/b', '.'];
      for (const text of clear)
        expect([text, glob(pattern, 'path').matches(text)]).toEqual([text, expect.any(Boolean)]);
    },
  );

  test('takes a path from here for the same with and without its dot', () => {
    for (const pattern of ['./src/**', 'src/**']) {
      for (const text of ['./src/a', 'src/a', '././src/a']) {
        expect([pattern, text, glob(pattern, 'path').matches(text)]).toEqual([
          pattern,
          text,
          text[2] !== '.' || undefined,
        ]);
      }
    }
  });

  test('is rejected if it has no meaning', () => {
    expect(compileGlob('', 'name')).toBe('a pattern that is not empty');
    expect(compileGlob('a\\', 'name')).toBe('a character after the backslash');
    expect(compileGlob('a'.repeat(257), 'name')).toBe('a pattern of at most 256 characters');
  });

  test('is undecided about a text that would take too long', () => {
    expect(glob('a*b*', 'name').matches(`a${'b'.repeat(5_000)}`)).toBeUndefined();
    expect(glob('a*', 'name').matches('a'.repeat(1_000_000))).toBe(true);
  });

  test('matches as documented, whatever it is', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '?'), maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, fc.constantFrom<GlobStyle>('name', 'path'), (pattern, text, style) => {
        fc.pre(pattern !== '');
        expect(glob(pattern, style).matches(text)).toBe(
          style === 'path' && text.includes('//') && !/^\*+$/.test(pattern) ? undefined : slowly(pattern, text, style),
        );
      }),
      { numRuns: 5_000 },
    );
  });
});

/** Straight from the definition. */
function slowly(pattern: string, text: string, style: GlobStyle): boolean {
  if (pattern === '*') return true;
  const from = (p: number, t: number): boolean => {
    if (p === pattern.length) return t === text.length;
    if (pattern[p] === '*') {
      let after = p;
      while (pattern[after] === '*') after += 1;
      const stops = style === 'path' && after === p + 1;
      for (let end = t; end <= text.length; end++) {
        if (from(after, end)) return true;
        if (stops && text[end] === '/') return false;
      }
      return false;
    }
    if (t === text.length) return false;
    const fits = pattern[p] === '?' ? style === 'name' || text[t] !== '/' : pattern[p] === text[t];
    return fits && from(p + 1, t + 1);
  };
  return from(0, 0);
}

describe('a URI', () => {
  test('has a second reading where others would fold or decode it', () => {
    expect(readAddress('file:///a').readings).toEqual(['file:///a']);
    expect(readAddress('FILE://Host/A').readings).toEqual(['FILE://Host/A', 'file://host/A']);
    expect(readAddress('file:///%65tc').readings).toEqual(['file:///%65tc', 'file:///etc']);
    expect(readAddress('file:///%65%ff').readings).toEqual(['file:///%65%ff', 'file:///e%ff']);
  });

  test.each([
    { uri: 'file:///a/../b/./c', as: 'file:///b/c' },
    { uri: 'file:///a//b/..', as: 'file:///a/' },
    { uri: 'file:///../../a', as: 'file:///a' },
    { uri: 'file:///a\\..\\b', as: 'file:///b' },
    { uri: 'file:///%2e%2e%2fa', as: 'file:///a' },
    { uri: 'file://localhost/a', as: 'file:///a' },
    { uri: 'file:/a', as: 'file:///a' },
    { uri: 'https://me@host:443/a', as: 'https://host/a' },
    { uri: 'https://host/a//b?of=c//d', as: 'https://host/a/b?of=c//d' },
  ])('$uri is also read as $as', ({ uri, as }) => {
    expect(readAddress(uri).readings).toContain(as);
  });

  test.each(['https://host:8443/a', 'https://[::1]/a', 'urn:a:b', 'db:x', 'https://host/?a=b//c', 'file:///a.b/.c'])(
    '%s has one reading',
    (uri) => {
      expect(readAddress(uri).readings).toEqual([uri]);
    },
  );

  test('is in a list that spells this machine in its own way', () => {
    const names = new NameSet(['file://localhost/srv/**'], 'path');
    expect(names.hasAll(readAddress('file://localhost/srv/x').readings)).toBe('yes');
  });

  test('that can be read in two ways is in a list or out of it only if both are', () => {
    const etc = new NameSet(['file:///etc/**'], 'path');
    expect(etc.hasAll(readAddress('file:///etc/passwd').readings)).toBe('yes');
    expect(etc.hasAll(readAddress('file:///%65tc/passwd').readings)).toBe('failed');
    expect(etc.hasAll(readAddress('file:///home/%65').readings)).toBe('no');
  });

  test('template is listed as far as its expansions are', () => {
    const names = new NameSet(['file:///etc/**', 'db:x'], 'path');
    expect(names.hasTemplate('file:///etc/{name}', false)).toBe('yes');
    expect(names.hasTemplate('file:///{+path}', false)).toBe('maybe');
    expect(names.hasTemplate('file:///home/{name}', false)).toBe('no');
    expect(names.hasTemplate('db:{table}', false)).toBe('maybe');
    expect(names.hasTemplate('db:x{rest}', false)).toBe('maybe');
    expect(names.hasTemplate('db:xy{rest}', false)).toBe('no');
    expect(names.hasTemplate('file:///home/../etc/{name}', false)).toBe('failed');
    expect(names.hasTemplate('file:///etc/.{name}', false)).toBe('yes');
  });

  test('template is in a list of a rule that denies in every form that a lenient reader takes it for', () => {
    const names = new NameSet(['notes:///secret/**', 'notes:///box'], 'path');
    const forms = ['notes:/secret/{x}', 'notes:secret/{x}', 'notes://host/secret/{x}', 'notes:%2fsecret/{x}'];
    for (const template of [...forms, 'notes:///secret/{x}', 'notes:/box?id={x}', 'notes:/secret/a']) {
      expect([template, names.hasTemplate(template, true)]).toEqual([template, 'yes']);
    }
    for (const template of ['notes:/{x}', 'notes:{+x}', 'notes:/bo{x}']) {
      expect([template, names.hasTemplate(template, true)]).toEqual([template, 'maybe']);
    }
    for (const template of ['notes:/public/{x}', 'notes:/boxes?id={x}', 'http://secret/{x}']) {
      expect([template, names.hasTemplate(template, true)]).toEqual([template, 'no']);
    }
  });
});
