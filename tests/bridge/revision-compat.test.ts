/** The table of what is younger than some revisions: complete enough to be read by people, and right at its edges. */
import { describe, expect, it } from 'vitest';
import {
  knowsNotification,
  olderAsk,
  olderCapabilities,
  olderError,
  olderRows,
} from '../../src/bridge/revision-compat.ts';
import { Failure } from '../../src/errors/failure.ts';
import { revisions } from '../../src/wire/revisions.ts';

describe('the table', () => {
  it('names each feature, the revision that introduced it, and what older clients get, in a sentence', () => {
    for (const { what, since, instead } of olderRows) {
      expect(what).toMatch(/\S/);
      expect(revisions.slice(1)).toContain(since);
      expect(instead).toMatch(/^[A-Z].*\.$/);
    }
    const names = olderRows.map(({ what }) => what);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a server request', () => {
  const audio = { messages: [{ role: 'user', content: { type: 'audio' } }] };
  const cases = [
    { revision: '2024-11-05', method: 'sampling/createMessage', params: audio, expected: 'revision_too_old' },
    { revision: '2025-03-26', method: 'sampling/createMessage', params: audio, expected: undefined },
    { revision: '2024-11-05', method: 'roots/list', params: undefined, expected: undefined },
    { revision: '2024-11-05', method: 'elicitation/create', params: undefined, expected: 'revision_too_old' },
    {
      revision: '2025-06-18',
      method: 'elicitation/create',
      params: { mode: 7, requestedSchema: 'x' },
      expected: undefined,
    },
    {
      revision: '2025-06-18',
      method: 'elicitation/create',
      params: { requestedSchema: { properties: { a: 1 } } },
      expected: undefined,
    },
  ] as const;
  it.each(cases)('$method for $revision: $expected', ({ revision, method, params, expected }) => {
    const older = olderAsk(revision, method, params);
    expect(older instanceof Failure ? older.reason : older).toBe(expected);
  });
});

it('an error code is passed on only to revisions that define it', () => {
  expect(olderError('2025-11-25', -32042)).toBeUndefined();
  expect(olderError('2025-06-18', -32042)?.reason).toBe('revision_too_old');
  expect(olderError('2024-11-05', -32000)).toBeUndefined();
});

it('a declared capability that is not an object stays unchanged', () => {
  for (const declared of [undefined, null, 1, 'x', []])
    expect(olderCapabilities('2024-11-05', declared)).toBe(declared);
  expect(olderCapabilities('2025-06-18', { sampling: true, elicitation: null })).toEqual({
    sampling: true,
    elicitation: null,
  });
});

it('a notification is passed on only to revisions that define it', () => {
  expect(knowsNotification('2025-06-18', 'notifications/elicitation/complete')).toBe(false);
  expect(knowsNotification('2025-11-25', 'notifications/elicitation/complete')).toBe(true);
  expect(knowsNotification('2025-11-25', 'notifications/subscriptions/acknowledged')).toBe(false);
  expect(knowsNotification('2024-11-05', 'notifications/com.example/own')).toBe(true);
});
