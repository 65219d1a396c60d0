import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure, type Reason } from '../../src/errors/failure.ts';
import { readBatch, skimBatch } from '../../src/wire/batch.ts';
import type { Batch } from '../../src/wire/message.ts';
import { readRpcBatch } from '../../src/wire/rpc.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { outline } from './outlines.ts';
import { awkwardJson, holds, spell, spelling } from './property.ts';

const limits = { depth: 128, members: 100 };
const batch = (text: string): Batch => ({ kind: 'batch', bytes: Buffer.from(text) });
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const note = '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"],["}}';
const answer = '{"jsonrpc":"2.0","id":"a","result":{}}';

const readers = [
  { name: 'the strict reader', read: (input: Batch) => readBatch(input, limits) },
  { name: 'the lenient reader', read: skimBatch },
];

describe.each(readers)('$name', ({ read }) => {
  test('reads each member as a message of its own', () => {
    const messages = read(batch(` [ ${ping} ,\n${note},${answer} ] `));
    expect(messages.map(({ kind }) => kind)).toEqual(['request', 'notification', 'result']);
    expect(messages.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([ping, note, answer]);
  });

  const broken: readonly string[] = [
    '[',
    '[,]',
    `[${ping}`,
    `[${ping},`,
    `[${ping},]`,
    `[,${ping}]`,
    `[${ping} ${ping}]`,
    `[${ping}]x`,
    `[${ping}}`,
    `[${ping.slice(0, -1)}]`,
    '[1]',
    '[null]',
    '[[]]',
    `[[${ping}]]`,
    '["a"]',
    '[{}]',
    '{}',
    '',
  ];
  test.each(broken)('refuses %s', (text) => {
    expect(() => read(batch(text))).toThrow(Failure);
  });

  test('gives messages or a failure for any bytes', () => {
    const pieces = fc.array(fc.constantFrom('[', ']', ',', '{', '}', '"', ping, note, ' ', '\\', '1'), {
      maxLength: 8,
    });
    holds(
      fc.property(pieces, (parts) => {
        try {
          expect(read(batch(`[${parts.join('')}`))).toBeInstanceOf(Array);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Failure);
        }
      }),
      1500,
    );
  });
});

describe('from a client', () => {
  const refused: readonly { name: string; input: string; reason: Reason; id?: string }[] = [
    { name: 'an empty array', input: '[ ]', reason: 'invalid_batch' },
    {
      name: 'initialize inside',
      input: `[${ping},{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}]`,
      reason: 'invalid_batch',
    },
    { name: 'something that is no message', input: `[${ping},5]`, reason: 'invalid_request' },
    { name: 'an array inside', input: `[${ping},[${ping}]]`, reason: 'invalid_request' },
    {
      name: 'a member that cannot be understood in one way',
      input: '[{"jsonrpc":"2.0","id":4,"method":"m","params":{"a":1,"a":2}}]',
      reason: 'ambiguous_json',
      id: '4',
    },
    { name: 'a member that is no JSON', input: `[${ping},{"a":tru}]`, reason: 'parse_error' },
    { name: 'something behind it', input: `[${ping}]]`, reason: 'parse_error' },
  ];
  test.each(refused)('refuses $name', ({ input, reason, id }) => {
    expect(() => readBatch(batch(input), limits)).toThrow(expect.objectContaining({ reason, id }));
  });

  test('counts the array as a level', () => {
    const deep = `[{"jsonrpc":"2.0","id":4,"method":"m","params":{"a":[]}}]`;
    expect(readBatch(batch(deep), { ...limits, depth: 4 })).toHaveLength(1);
    expect(() => readBatch(batch(deep), { ...limits, depth: 3 })).toThrow(
      expect.objectContaining({ reason: 'too_deep' }),
    );
  });
});

test('members beyond the limit are not read', () => {
  const many = batch(`[${ping},${ping},}`);
  expect(() => readBatch(many, { ...limits, members: 3 })).toThrow(expect.objectContaining({ reason: 'parse_error' }));
  for (const read of [readBatch, readRpcBatch])
    expect(() => read(many, { ...limits, members: 2 })).toThrow(expect.objectContaining({ reason: 'invalid_batch' }));
  expect(readBatch(batch(`[${ping},${ping}]`), { ...limits, members: 2 })).toHaveLength(2);
});

describe('from a backend', () => {
  test('an empty array has no messages', () => {
    expect(skimBatch(batch('[]'))).toEqual([]);
  });

  test('an invalid batch is the fault of the backend', () => {
    expect(() => skimBatch(batch('[1]'))).toThrow(expect.objectContaining({ reason: 'backend_invalid' }));
    expect(() => skimBatch(batch('[{]'))).toThrow(expect.objectContaining({ reason: 'backend_invalid' }));
  });
});

test('a batch reads as its members do alone', () => {
  const member = fc.record({ value: awkwardJson, how: spelling }).map(({ value, how }) => {
    return spell({ jsonrpc: '2.0', id: 3, method: 'm', params: { value } }, how);
  });
  holds(
    fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), (texts) => {
      const alone = texts.map((text) => outline(readMessage(Buffer.from(text), limits)));
      const input = batch(`[${texts.join(' , ')}]`);
      expect(readBatch(input, limits).map(outline)).toEqual(alone);
      expect(skimBatch(input).map(outline)).toEqual(alone);
    }),
    150,
  );
});
