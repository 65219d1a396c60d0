/** Texts of clients and backends, as people see them. */
import { expect, test } from 'vitest';
import { visible } from '../../src/wire/visible.ts';
import { verifies } from '../requirements/verifies.ts';

const unseen = [
  { name: 'a right-to-left override', character: '\u202e' },
  { name: 'a zero-width space', character: '\u200b' },
  { name: 'a variation selector', character: '\ufe0f' },
  { name: 'a further variation selector', character: '\u{e0101}' },
  { name: 'a grapheme joiner', character: '\u034f' },
  { name: 'a Hangul filler', character: '\u3164' },
  { name: 'a Braille pattern without dots', character: '\u2800' },
  { name: 'a no-break space', character: '\u00a0' },
  { name: 'half of a character', character: '\ud800' },
];

test.each(unseen)('$name is shown as its code', verifies('gateway:approval:preview'), ({ character }) => {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  expect(visible(`a${character}b`)).toBe(`a\\u{${code}}b`);
});

test('letters, marks and plain spaces stay as they are', verifies('gateway:approval:preview'), () => {
  expect(visible('Añ e\u0301 漢字')).toBe('Añ e\u0301 漢字');
});
