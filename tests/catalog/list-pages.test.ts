import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cursors } from '../../src/catalog/cursors.ts';
import { cutPages, listResult } from '../../src/catalog/merged-list.ts';
import { createNames } from '../../src/catalog/names.ts';
import { mergeNamed } from '../../src/catalog/view.ts';
import { Failure } from '../../src/errors/failure.ts';
import { createSeal } from '../../src/store/seal.ts';
import { holds } from '../wire/property.ts';
import { digest, listOf, pageOf, row, text } from './listed.ts';

const names = createNames(['a'], digest);

describe('pages of a merged list', () => {
  const limits = fc.record({ entries: fc.integer({ min: 1, max: 7 }), bytes: fc.integer({ min: 1, max: 200 }) });
  const tools = fc.uniqueArray(fc.string({ maxLength: 40 }), { maxLength: 30 });

  it('have every entry once, in order, within the limits', () => {
    holds(
      fc.property(tools, limits, (own, limit) => {
        const { places } = mergeNamed([listOf('a', own)], 'always', names);
        const pages = cutPages({ places }, limit);
        const all = pages.flatMap(({ start, end }) => places.slice(start, end));
        expect(all).toEqual(places);
        expect(pages.length).toBeGreaterThan(0);
        for (const { start, end } of pages) {
          const bytes = places.slice(start, end).reduce((sum, place) => sum + place.bytes.byteLength + 1, 0);
          expect(end - start).toBeLessThanOrEqual(limit.entries);
          if (end - start > 1) expect(bytes).toBeLessThanOrEqual(limit.bytes);
          if (places.length > 0) expect(end).toBeGreaterThan(start);
        }
      }),
    );
  });

  const { places } = mergeNamed(
    [{ backend: 'a', entries: pageOf('tools/list', ['{"name":"x", "n":1.0}', '{"name":"y"}']).entries }],
    'never',
    names,
  );
  const plain = { ttlMs: 0, scope: 'private', partial: [] } as const;
  const cases = [
    {
      name: 'are written with the entries as they are',
      input: listResult(row('tools/list'), places, plain),
      expect: '{"tools":[{"name":"x", "n":1.0},{"name":"y"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}',
    },
    {
      name: 'may be empty',
      input: listResult(row('resources/templates/list'), [], { ...plain, ttlMs: 5, scope: 'public' }),
      expect: '{"resourceTemplates":[],"resultType":"complete","ttlMs":5,"cacheScope":"public"}',
    },
    {
      name: 'contain the cursor of the next one',
      input: listResult(row('prompts/list'), [], { ...plain, next: 'abc' }),
      expect: '{"prompts":[],"nextCursor":"abc","resultType":"complete","ttlMs":0,"cacheScope":"private"}',
    },
    {
      name: 'say which part is missing, and why',
      input: listResult(row('resources/list'), [], {
        ...plain,
        partial: [{ backend: 'b"', reason: 'backend_timeout' }],
        collisions: [{ name: 'x', backends: ['a', 'b'] }],
      }),
      expect:
        '{"resources":[],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"bascule/partial":[{"backend":"b\\"","reason":"backend_timeout"}],"bascule/collisions":[{"name":"x","backends":["a","b"]}]}}',
    },
  ];
  for (const { name, input, expect: expected } of cases) it(name, () => expect(text(input)).toBe(expected));
});

describe('a cursor', () => {
  const seal = createSeal('a secret');
  const cursors = new Cursors(seal);
  const bound = { endpoint: '/mcp', method: 'tools/list', principal: 'p' };
  const position = { offset: 50, version: 'v1' };
  const cursor = cursors.write(position, bound);

  it('leads back to its position', () => expect(cursors.read(cursor, bound)).toEqual(position));

  it('cannot be decoded by a client', () => {
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain('v1');
  });

  const sealed = (plain: string) => seal.seal(plain, JSON.stringify(['cursor', '/mcp', 'tools/list', 'p']));
  const refused = [
    { name: 'of another endpoint', input: cursors.write(position, { ...bound, endpoint: '/other' }) },
    { name: 'of another list', input: cursors.write(position, { ...bound, method: 'prompts/list' }) },
    { name: 'of another principal', input: cursors.write(position, { ...bound, principal: 'q' }) },
    { name: 'of no principal', input: cursors.write(position, { endpoint: '/mcp', method: 'tools/list' }) },
    { name: 'of another gateway', input: new Cursors(createSeal('another')).write(position, bound) },
    { name: 'of a backend', input: 'eyJwYWdlIjogMn0=' },
    { name: 'that is empty', input: '' },
    { name: 'that was changed', input: `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}` },
    { name: 'of another release', input: sealed('[1]') },
    { name: 'with a position before the beginning', input: sealed('{"offset":-1,"version":"v1"}') },
    { name: 'with no version', input: sealed('{"offset":1}') },
    { name: 'that is no JSON inside', input: sealed('50') },
  ];
  for (const { name, input } of refused) {
    it(`is refused: one ${name}`, () => {
      expect(() => cursors.read(input, bound)).toThrow(new Failure('invalid_cursor'));
    });
  }

  it('is refused with the code for parameters that are wrong', () => {
    expect(new Failure('invalid_cursor').row).toMatchObject({ legacy: -32602, modern: -32602 });
  });
});
