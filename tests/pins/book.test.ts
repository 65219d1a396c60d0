/** What the book tells of, keeps and works out again. */
import { expect, it } from 'vitest';
import { digest } from '../../src/app/digest.ts';
import { PinBook } from '../../src/pins/book.ts';
import { writePinFile } from '../../src/pins/file.ts';
import type { PinChange } from '../../src/pins/ports.ts';
import { pinnedTool, tool } from './setup.ts';

function open() {
  const told: PinChange[] = [];
  const silenced: string[] = [];
  const counted = { digests: 0 };
  const text = writePinFile([pinnedTool('read', '{"name":"read"}')], digest);
  const book = new PinBook(
    { file: '/pins.txt', mode: 'hold', content: { text } },
    {
      since: 1,
      digest: (one) => {
        counted.digests += 1;
        return digest(one);
      },
      found: (change) => void told.push(change),
      silenced: (backend) => void silenced.push(backend),
    },
  );
  counted.digests = 0;
  return { book, told, silenced, counted };
}

const entry = (key: string, more: object = {}) => ({ key, bytes: Buffer.from(JSON.stringify({ name: key, ...more })) });

it('an entry is worked out once, however many lists and calls it is judged for', () => {
  const { book, counted } = open();
  const entries = [entry('read'), entry('write')];
  const first = book.holding(tool('write'), entries);
  expect([...book.heldIn('files', 'tool', entries)]).toEqual(['write']);
  const { digests } = counted;
  expect(book.holding(tool('write'), entries)).toBe(first);
  expect([...book.heldIn('files', 'tool', entries)]).toEqual(['write']);
  expect(counted.digests).toBe(digests);
});

it('a change is classified once, also when the backend sends it again', () => {
  const { book, told } = open();
  const first = book.holding(tool('read'), [entry('read', { description: 'x' })]);
  const second = book.holding(tool('read'), [entry('read', { description: 'x' })]);
  expect(first?.classes).toEqual(['text']);
  expect(second?.classes).toBe(first?.classes);
  expect(told).toHaveLength(1);
});

it('a backend that makes up changes does not silence the others, and is said to be silenced, once', () => {
  const { book, told, silenced } = open();
  for (let round = 0; round < 3; round++)
    book.heldIn(
      'loud',
      'tool',
      Array.from({ length: 5_000 }, (_, at) => entry(`${round}-${at}`)),
    );
  expect(silenced).toEqual(['loud']);
  expect(told.length).toBeLessThan(5_000);
  book.heldIn('files', 'tool', [entry('read', { description: 'x' })]);
  expect(told.at(-1)).toMatchObject({ backend: 'files', name: 'read', classes: ['text'] });
  expect(book.changes.slice(0, 2).map(({ backend }) => backend)).toEqual(['loud', 'files']);
  expect(book.changeCount).toBe(told.length);
  expect(book.heldIn('loud', 'tool', [entry('one-more')])).toEqual(new Set(['one-more']));
  expect(book.holding(tool('one-more', 'loud'), [entry('one-more')])?.classes).toEqual(['new']);
});

it('a backend with long names fills only its own part of what is kept', () => {
  const { book, told } = open();
  book.heldIn(
    'loud',
    'tool',
    ['a', 'b', 'c'].map((letter) => entry(letter.repeat(40_000))),
  );
  book.heldIn('files', 'tool', [entry('write')]);
  expect(told).toHaveLength(4);
  expect(book.changes.map(({ backend }) => backend)).toEqual(['loud', 'files']);
});

it('instructions that are larger than what can be pinned are held', () => {
  const { book, told } = open();
  expect(book.holdsInstructions('files', 'x'.repeat(300_000))).toBe(true);
  expect(told).toMatchObject([{ kind: 'instructions', classes: ['unpinnable'] }]);
});
