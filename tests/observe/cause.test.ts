/** Masking secrets in text that strangers wrote. */
import { describe, expect, it } from 'vitest';
import { masked } from '../../src/observe/cause.ts';

describe('masked', () => {
  it.each([
    ['postgres://user:hunter2@db/x', 'postgres://***@db/x'],
    ['GET /x?page=2&api_key=hunter2', 'GET /x?page=2&api_key=***'],
    ['what?why?token=hunter2', 'what?why?token=***'],
    ['"password": "hunter2"', '"password": ***'],
    ['Authorization: Bearer abc.def', 'Authorization: *** ***'],
    [`id ${'a1'.repeat(200)} end`, 'id *** end'],
    ['eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln', '***'],
    ['a plain sentence with a-dash/and a path', 'a plain sentence with a-dash/and a path'],
  ])('%s', (text, expected) => {
    expect(masked(text)).toBe(expected);
  });

  // With a pattern that tries every end for every beginning, some of these take minutes.
  it.each(['?key', 'key', 'a-', 'a.', 'a/', '-eyJ', '-eyJa.', '?', 'key="', 'a://', 'bearer ', 'sk-'])(
    'takes a long run of %s',
    (part) => {
      const text = part.repeat(Math.ceil(65_536 / part.length));
      expect(masked(text).length).toBeLessThanOrEqual(2 * text.length);
    },
  );
});
