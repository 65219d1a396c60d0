import { expect, test } from 'vitest';
import { newRequestId } from '../../src/downstream/request-id.ts';

test('request ids are UUIDs of version 4, and no two are the same', () => {
  // More than are made at once.
  const ids = Array.from({ length: 3_000 }, () => newRequestId());
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
