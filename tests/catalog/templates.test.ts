import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesTemplate, mayOverlap } from '../../src/catalog/templates.ts';
import { awkwardText, holds } from '../wire/property.ts';

describe('a URI and a template', () => {
  const cases: readonly { name: string; input: string; fits: readonly string[]; fitsNot: readonly string[] }[] = [
    { name: 'without expressions', input: 'a:b', fits: ['a:b'], fitsNot: ['a:', 'a:bc', ''] },
    {
      name: 'with a value',
      input: 'a:{x}/c',
      fits: ['a:b/c', 'a:/c', 'a:b,d/c'],
      fitsNot: ['a:b/d/c', 'a:b', 'b:b/c'],
    },
    { name: 'with two values', input: '{x}-{y}', fits: ['a-b', 'a-b-c', '-'], fitsNot: ['ab', 'a/-b/'] },
    { name: 'with a reserved value', input: 'f:///{+path}', fits: ['f:///a/b?c#d', 'f:///'], fitsNot: ['f://a'] },
    { name: 'with a fragment', input: 'a{#x}', fits: ['a', 'a#', 'a#b/c'], fitsNot: ['ab', 'a/#b'] },
    { name: 'with a label', input: 'a{.x}', fits: ['a', 'a.b', 'a.b.c'], fitsNot: ['ab', 'a.b/c'] },
    { name: 'with a segment', input: 'a{/x}', fits: ['a', 'a/b', 'a/'], fitsNot: ['ab', 'a/b/c'] },
    { name: 'with segments', input: 'a{/x*}', fits: ['a', 'a/b/c'], fitsNot: ['ab'] },
    { name: 'with two segments', input: 'a{/x,y}', fits: ['a', 'a/b/c'], fitsNot: ['ab'] },
    { name: 'with parameters', input: 'a{;x,y}', fits: ['a', 'a;x=1;y'], fitsNot: ['ax', 'a;x/y'] },
    { name: 'with a query', input: 'a{?x,y}', fits: ['a', 'a?x=1&y=/'], fitsNot: ['ax', 'a?x#y'] },
    { name: 'with more of a query', input: 'a?z=1{&x}', fits: ['a?z=1', 'a?z=1&x=2'], fitsNot: ['a?z=12', 'a'] },
    { name: 'with a whole path', input: 'a:{path*}', fits: ['a:b/c', 'a:'], fitsNot: ['b:c'] },
    { name: 'with a cut value', input: 'a:{x:3}', fits: ['a:bcd'], fitsNot: ['a:b/d'] },
    { name: 'with names that no standard has', input: 'a:{user-id}', fits: ['a:7'], fitsNot: ['a:7/'] },
    { name: 'that is open', input: 'a{x', fits: [], fitsNot: ['a{x', 'a', 'ab'] },
    { name: 'that closes twice', input: 'a{x}}', fits: [], fitsNot: ['ab}', 'a{x}}'] },
    { name: 'that opens twice', input: 'a{{x}', fits: [], fitsNot: ['ab', 'a{{x}'] },
    { name: 'with an empty expression', input: 'a{}', fits: [], fitsNot: ['a', 'a{}', 'ab'] },
    { name: 'with an operator of the future', input: 'a{=x}', fits: [], fitsNot: ['a', 'ab'] },
    { name: 'with too many expressions', input: '{x}'.repeat(33), fits: [], fitsNot: ['a'] },
    { name: 'with signs that mean something elsewhere', input: 'a.*({x})+', fits: ['a.*(b)+'], fitsNot: ['aa(b)'] },
  ];
  for (const { name, input, fits, fitsNot } of cases) {
    it(`fit or do not: ${name}`, () => {
      for (const uri of fits) expect([uri, matchesTemplate(input, uri)]).toEqual([uri, true]);
      for (const uri of fitsNot) expect([uri, matchesTemplate(input, uri)]).toEqual([uri, false]);
    });
  }

  it('are compared in bounded time, however many ways of matching the template has', () => {
    expect(matchesTemplate(`${'{+x}a'.repeat(32)}!`, 'a'.repeat(8_192))).toBe(false);
    expect(matchesTemplate('{+x}', 'a'.repeat(8_193))).toBe(false);
  });

  it('fit where the one was made from the other', () => {
    const segment = fc.constantFrom('', 'a', 'b-c', '%2F', '世');
    const piece = fc.oneof(
      fc.constantFrom('a', '/', ':', 'b/').map((literal) => ({ template: literal, uri: literal })),
      segment.map((value) => ({ template: '{x}', uri: value })),
      segment.map((value) => ({ template: '{+x}', uri: `${value}/${value}` })),
      segment.map((value) => ({ template: '{/x}', uri: `/${value}` })),
      segment.map((value) => ({ template: '{?x}', uri: `?x=${value}` })),
    );
    holds(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const join = (key: 'template' | 'uri') => pieces.map((one) => one[key]).join('');
        expect(matchesTemplate(join('template'), join('uri'))).toBe(true);
      }),
    );
  });

  it('of any text give an answer', () => {
    const braced = fc.array(fc.oneof(awkwardText, fc.constantFrom('{', '}', '{x}', '{+x}'))).map((all) => all.join(''));
    holds(fc.property(braced, awkwardText, (template, uri) => typeof matchesTemplate(template, uri) === 'boolean'));
  });
});

describe('templates of two backends', () => {
  const piece = fc.constantFrom('a', 'b', '/', '{x}', '{+x}', '{/x}', '{.x}', '{?x}');
  const template = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));

  it('overlap when some URI matches both', () => {
    const uri = fc.array(fc.constantFrom('a', 'b', '/', '.', '?'), { maxLength: 6 }).map((all) => all.join(''));
    holds(
      fc.property(template, template, uri, (first, second, one) => {
        fc.pre(matchesTemplate(first, one) && matchesTemplate(second, one));
        const shared = mayOverlap([
          { backend: 'a', template: first },
          { backend: 'b', template: second },
        ]);
        expect([...shared].sort()).toEqual([...new Set([first, second])].sort());
      }),
      300,
    );
  });
});
