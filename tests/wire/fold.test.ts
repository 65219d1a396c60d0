import { describe, expect, test } from 'vitest';
import { folded, foldsOf, hasOther, takenFor } from '../../src/wire/fold.ts';
import { nameAt, wordAt } from '../../src/wire/values.ts';
import { vocabulary } from '../../src/wire/vocabulary.ts';

const points = Array.from({ length: 0x110000 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))
  // All others are alone in whatever they fold to.
  .filter((character) => character.toLowerCase() !== character || character.toUpperCase() !== character);

describe('folding', () => {
  test('unites what upper case followed by lower case unites', () => {
    const seen = new Map<string, string>();
    for (const character of points) {
      const other = character.toUpperCase().toLowerCase();
      const first = seen.get(other) ?? folded(character);
      seen.set(other, first);
      if (folded(character) !== first) throw new Error(`${character} ${other}`);
    }
    expect(seen.size).toBeGreaterThan(1000);
  });

  test('unites what simple case folding unites, which is what /iu does', () => {
    let united = 0;
    for (const character of points) {
      for (const other of [character.toLowerCase(), character.toUpperCase(), folded(character)]) {
        if (other === character || [...other].length > 1) continue;
        const simple = new RegExp(`^\\u{${(character.codePointAt(0) ?? 0).toString(16)}}$`, 'iu').test(other);
        if (!simple) continue;
        united += 1;
        if (folded(character) !== folded(other)) throw new Error(`${character} ${other}`);
      }
    }
    expect(united).toBeGreaterThan(1000);
  });

  test.each([
    ['Name', 'name'],
    ['NAME', 'name'],
    ['argument\u017f', 'arguments'],
    ['to\u212aen', 'token'],
    ['straße', 'STRASSE'],
  ])('takes %s for %s', (name, word) => {
    expect(takenFor(foldsOf([word]), name)).toBe(word);
  });

  test.each([
    ['\u1e9e', 'ß'],
    ['ΣΑΣ', 'σας'],
  ])('unites %s and %s', (one, other) => {
    expect(folded(one)).toBe(folded(other));
  });

  test('makes nothing shorter, and a name that cannot fold to ASCII is no protocol word', () => {
    for (const character of points) {
      const fold = folded(character);
      if (fold.length < character.length) throw new Error(character);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them.
      if (!/^[\x00-\x7f]+$/.test(fold)) continue;
      const word = fold.toLowerCase();
      expect(takenFor(foldsOf([word]), character)).toBe(word === character ? undefined : word);
    }
  });

  test.each([
    ['name', 'name'],
    ['nam', 'name'],
    ['na_me', 'name'],
    ['', 'name'],
    ['nаme', 'name'],
  ])('does not take %j for %s', (name, word) => {
    expect(takenFor(foldsOf([word]), name)).toBeUndefined();
  });
});

describe('the words of the protocol', () => {
  test('do not fold to each other', () => {
    expect(new Set(vocabulary.map(folded)).size).toBe(vocabulary.length);
  });

  test('are found at their places, and nothing else is', () => {
    for (const word of vocabulary) {
      const bytes = Buffer.from(`"${word}"x`);
      expect(wordAt(bytes, 1, word.length + 1)).toBe(word);
      expect(wordAt(bytes, 1, word.length + 3)).toBeUndefined();
      expect(nameAt(bytes, 1, word.length)).toBe(word.slice(0, -1));
      const upper = Buffer.from(word.toUpperCase());
      expect(wordAt(upper, 0, upper.byteLength)).toBeUndefined();
    }
  });

  test('are not added to by names that a peer sends', () => {
    const name = Buffer.from('com.example/unknown');
    expect(nameAt(name, 0, name.byteLength)).toBe('com.example/unknown');
    expect(wordAt(name, 0, name.byteLength)).toBeUndefined();
  });
});

const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`filler_${at}`, at]));

test.each([
  { members: { path: 1 }, name: 'path', other: false },
  { members: { Path: 1 }, name: 'path', other: true },
  { members: { path: 1, PATH: 2 }, name: 'path', other: true },
  { members: { paths: 1, pat: 2 }, name: 'path', other: false },
  { members: { 'ta\u017fK': 1 }, name: 'task', other: true },
  { members: { 'stra\u00dfe': 1 }, name: 'strasse', other: true },
  { members: {}, name: 'path', other: false },
])('among few or many members $members, another is taken for $name: $other', ({ members, name, other }) => {
  expect(hasOther(members, name)).toBe(other);
  expect(hasOther({ ...many, ...members }, name)).toBe(other);
});

test('the names of a large object are enumerated once, however many are looked for', () => {
  let times = 0;
  const large = new Proxy(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`name${at}`, at])), {
    ownKeys: (target) => {
      times += 1;
      return Reflect.ownKeys(target);
    },
  });
  hasOther(large, 'first');
  const enumerated = times;
  for (let at = 0; at < 50; at += 1) expect(hasOther(large, `Name${at}`)).toBe(true);
  expect(times).toBe(enumerated);
});
