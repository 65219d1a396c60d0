import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { ambiguousResult } from '../../src/wire/ambiguity.ts';
import type { ResultResponse } from '../../src/wire/message.ts';
import { skimMessage } from '../../src/wire/skim.ts';

const resultOf = (result: string) =>
  skimMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`)) as ResultResponse;
const crowd = Array.from({ length: 2000 }, (_, n) => `"k${n}":0`).join(',');

describe('a modern result with server requests', () => {
  test('is read as far as a server request can need, and no further', () => {
    const crowded = [
      `{"resultType":"complete","inputRequests":{${crowd}}}`,
      `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"requestedSchema":{${crowd}}}}}}`,
    ];
    for (const result of crowded) expect(() => ambiguousResult(resultOf(result))).toThrow(Failure);
  });

  test('may hold as much data as it likes elsewhere', () => {
    expect(ambiguousResult(resultOf(`{"resultType":"complete","structuredContent":{${crowd}}}`))).toBeUndefined();
  });
});
