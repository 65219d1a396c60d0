import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPage } from '../../src/catalog/entries.ts';
import { Failure } from '../../src/errors/failure.ts';
import { awkwardJson, holds, spell, spelling } from '../wire/property.ts';
import { answer, pageOf, row, text } from './listed.ts';

const reasonOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) return error.reason;
    throw error;
  }
  return 'none';
};

describe('a page of a list', () => {
  const keyed = [
    { method: 'tools/list', key: 'name' },
    { method: 'prompts/list', key: 'name' },
    { method: 'resources/list', key: 'uri' },
    { method: 'resources/templates/list', key: 'uriTemplate' },
  ];
  for (const { method, key } of keyed) {
    it(`has entries that are addressed by ${key}: ${method}`, () => {
      const [entry] = pageOf(method, [`{ "x": [1.0], "${key}" : "a\\u0062" }`]).entries;
      expect(entry?.key).toBe('ab');
      expect(text(entry?.bytes.subarray(entry.span.start, entry.span.end) ?? new Uint8Array())).toBe('"a\\u0062"');
    });
  }

  it('keeps every entry byte for byte', () => {
    holds(
      fc.property(fc.array(fc.tuple(awkwardJson, spelling)), (things) => {
        const entries = things.map(([extra, how], at) => spell({ extra, name: `n${at}`, more: extra }, how));
        const read = pageOf('tools/list', entries).entries;
        expect(read.map(({ bytes }) => text(bytes))).toEqual(entries);
        expect(read.map(({ key }) => key)).toEqual(entries.map((_, at) => `n${at}`));
      }),
      100,
    );
  });

  it('does not keep the memory of the message', () => {
    const message = answer('{"tools":[{"name":"a"},{"name":"b"}]}');
    const { entries } = readPage(message, row('tools/list'));
    message.bytes.fill(0x20);
    expect(entries.map(({ bytes }) => text(bytes))).toEqual(['{"name":"a"}', '{"name":"b"}']);
  });

  const flawed = [
    { name: 'something else than an object', input: '7', expect: 'no name' },
    { name: 'no name', input: '{"title":"a"}', expect: 'no name' },
    { name: 'a name that is no string', input: '{"name":7}', expect: 'name is no string' },
    { name: 'two names', input: '{"name":"a","n\\u0061me":"b"}', expect: 'more than one name' },
    { name: 'an unknown word', input: '{"name":"a","x":tru}', expect: 'not JSON' },
    { name: 'an invalid escape', input: '{"name":"\\q"}', expect: 'not JSON' },
  ];
  for (const { name, input, expect: expected } of flawed) {
    it(`leaves out an entry with ${name}, and no other`, () => {
      const skipped: string[] = [];
      const page = pageOf('tools/list', ['{"name":"x"}', input, '{"name":"y"}'], '', (why) => skipped.push(why));
      expect(page.entries.map(({ key }) => key)).toEqual(['x', 'y']);
      expect(skipped).toEqual([expected]);
    });
  }

  it('leaves out an entry that is not UTF-8', () => {
    const broken = Buffer.from('{"tools":[{"name":"x"},{"name":"?"}]}');
    broken[broken.indexOf('?')] = 0xff;
    expect(readPage(answer(broken), row('tools/list')).entries.map(({ key }) => key)).toEqual(['x']);
  });

  const hints = [
    { name: 'no hints', input: '', expect: { next: undefined, ttlMs: undefined, scope: 'private' } },
    { name: 'an empty cursor', input: ',"nextCursor":""', expect: { next: '' } },
    { name: 'a cursor that is null', input: ',"nextCursor":null', expect: { next: undefined } },
    { name: 'hints', input: ',"ttlMs":5000,"cacheScope":"public"', expect: { ttlMs: 5000, scope: 'public' } },
    { name: 'a lifetime below zero', input: ',"ttlMs":-1', expect: { ttlMs: 0 } },
    { name: 'a lifetime beyond measure', input: ',"ttlMs":1e400', expect: { ttlMs: Number.MAX_SAFE_INTEGER } },
    { name: 'half a millisecond', input: ',"ttlMs":1.5', expect: { ttlMs: 1 } },
    { name: 'a lifetime that is no number', input: ',"ttlMs":"5"', expect: { ttlMs: undefined } },
    { name: 'a scope that does not exist', input: ',"cacheScope":"all"', expect: { scope: 'private' } },
  ];
  for (const { name, input, expect: expected } of hints) {
    it(`may have ${name}`, () => expect(pageOf('tools/list', [], input)).toMatchObject(expected));
  }

  const refused = [
    { name: 'has no list', input: '{}' },
    { name: 'has something else in its place', input: '{"tools":{}}' },
    { name: 'has a list that breaks off', input: '{"tools":[{"name":"a"} 7]}' },
    { name: 'has a cursor that is no string', input: '{"tools":[],"nextCursor":2}' },
  ];
  for (const { name, input } of refused) {
    it(`is refused where it ${name}`, () => {
      expect(reasonOf(() => readPage(answer(input), row('tools/list')))).toBe('backend_invalid');
    });
  }
});
