/** Tasks of 2025-11-25 in single messages. */
import { expect, it } from 'vitest';
import type { ErrorResponse } from '../../src/wire/message.ts';
import { skimMessage } from '../../src/wire/skim.ts';
import { withoutOwnId } from '../../src/wire/tasks.ts';
import { valueAt } from '../../src/wire/values.ts';

const own = 'job "7"';

function shown(error: object, id = own): unknown {
  const message = skimMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error }))) as ErrorResponse;
  const changed = withoutOwnId(message, id, 'ours');
  return valueAt(changed.bytes, changed.error);
}

it.each([
  {
    name: 'an error that names no task stays as it is',
    error: { code: -32602, message: 'no such job', data: { job: '7' } },
    expected: { code: -32602, message: 'no such job', data: { job: '7' } },
  },
  {
    name: 'the text gets the other id',
    error: { code: -32602, message: `${own}: gone, ${own}`, data: 1 },
    expected: { code: -32602, message: 'ours: gone, ours', data: 1 },
  },
  {
    name: 'data with the id is left out',
    error: { code: -1, message: 'gone', data: { of: [`${own}!`] } },
    expected: { code: -1, message: 'gone' },
  },
])('$name', ({ error, expected }) => {
  expect(shown(error)).toEqual(expected);
});

it('an id that occurs at every letter does not make a long error longer without bound', () => {
  const { message } = shown({ code: -1, message: 'a'.repeat(1_000_000), data: 'b'.repeat(1_000_000) }, 'a') as {
    message: string;
  };
  expect(message.length).toBeLessThanOrEqual(4 * 4_096);
  expect(shown({ code: -1, message: 'gone', data: 'b'.repeat(1_000_000) })).toEqual({ code: -1, message: 'gone' });
});
