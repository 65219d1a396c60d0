import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import {
  concat,
  errorBytes,
  failureBytes,
  notificationBytes,
  type Raw,
  requestBytes,
  resultBytes,
  rewrite,
  splice,
  spliceMessage,
  withId,
} from '../../src/wire/compose.ts';
import type { Request, Response } from '../../src/wire/message.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { skimMessage } from '../../src/wire/skim.ts';
import { member } from '../../src/wire/values.ts';
import { awkwardJson, awkwardText, holds, spell, spelling } from './property.ts';

const limits = { depth: 128 };

function request(text: string): Request {
  const message = readMessage(Buffer.from(text), limits);
  if (message.kind !== 'request') throw new Error(message.kind);
  return message;
}

function response(text: string): Response {
  const message = skimMessage(Buffer.from(text));
  if (message.kind !== 'result' && message.kind !== 'error') throw new Error(message.kind);
  return message;
}

test('parts are concatenated, whatever they contain', () => {
  const part = fc.oneof(awkwardText, fc.string({ unit: 'binary', maxLength: 700 }), fc.uint8Array({ maxLength: 300 }));
  holds(
    fc.property(fc.array(part), (parts) => {
      const expected = Buffer.concat(parts.map((piece) => Buffer.from(piece as string)));
      expect(concat(parts).equals(expected)).toBe(true);
    }),
  );
});

describe('messages of our own', () => {
  const cases: readonly { name: string; made: Buffer; expect: string }[] = [
    { name: 'a request', made: requestBytes('1', 'ping'), expect: '{"jsonrpc":"2.0","id":1,"method":"ping"}' },
    {
      name: 'a request with params',
      made: requestBytes('"a"', 'm', Buffer.from('{"é":1.0}')),
      expect: '{"jsonrpc":"2.0","id":"a","method":"m","params":{"é":1.0}}',
    },
    {
      name: 'a method that needs escapes',
      made: requestBytes('0', 'a"\n'),
      expect: '{"jsonrpc":"2.0","id":0,"method":"a\\"\\n"}',
    },
    { name: 'a notification', made: notificationBytes('n'), expect: '{"jsonrpc":"2.0","method":"n"}' },
    {
      name: 'a notification with params',
      made: notificationBytes('n', '{"a":1}'),
      expect: '{"jsonrpc":"2.0","method":"n","params":{"a":1}}',
    },
    { name: 'a result', made: resultBytes('7', '{}'), expect: '{"jsonrpc":"2.0","id":7,"result":{}}' },
    {
      name: 'an error',
      made: errorBytes('7', { code: -32601, message: 'no "x"', data: '[1]' }),
      expect: '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \\"x\\"","data":[1]}}',
    },
    {
      name: 'an error without id, which has no such member',
      made: errorBytes(undefined, { code: 1, message: '' }),
      expect: '{"jsonrpc":"2.0","error":{"code":1,"message":""}}',
    },
  ];
  test.each(cases)('$name', ({ made, expect: expected }) => {
    expect(made.toString()).toBe(expected);
  });

  test('are messages to the strict reader', () => {
    for (const { made } of cases) expect(readMessage(made, limits)).toHaveProperty('kind');
  });
});

describe('a failure as a JSON-RPC error', () => {
  test('has the code of the era, the reason and the data', () => {
    const failure = new Failure('resource_not_found', { data: { uri: 'a:b' }, id: '3' });
    const told = (bytes: Buffer): unknown => JSON.parse(bytes.toString());
    expect(told(failureBytes(failure, 'legacy'))).toEqual({
      jsonrpc: '2.0',
      id: 3,
      error: { code: -32002, message: 'Resource not found', data: { reason: 'resource_not_found', uri: 'a:b' } },
    });
    expect(told(failureBytes(failure, 'modern', '"x"'))).toMatchObject({ id: 'x', error: { code: -32602 } });
  });

  test('never has the text of an unexpected exception', () => {
    const failure = new Failure('internal_error', { message: 'password is hunter2', data: { logId: 'l' } });
    expect(failureBytes(failure, 'legacy').toString()).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error","data":{"reason":"internal_error","logId":"l"}}}',
    );
  });
});

describe('another id', () => {
  const cases: readonly { name: string; message: Request | Response; expect: string }[] = [
    {
      name: 'in a request, its params as they were',
      message: request(' {"id" : "old" , "jsonrpc":"2.0","method":"m","params":{"id":1.0}} '),
      expect: '{"jsonrpc":"2.0","id":99,"method":"m","params":{"id":1.0}}',
    },
    {
      name: 'in a result',
      message: response('{"jsonrpc":"2.0","id":1,"result":{"a":12345678901234567890}}'),
      expect: '{"jsonrpc":"2.0","id":99,"result":{"a":12345678901234567890}}',
    },
    {
      name: 'in place of null',
      message: response('{"jsonrpc":"2.0","id":null,"error":{}}'),
      expect: '{"jsonrpc":"2.0","id":99,"error":{}}',
    },
    {
      name: 'where there was none',
      message: response('{ "jsonrpc":"2.0","error":{},"ID":1}'),
      expect: '{"jsonrpc":"2.0","id":99,"error":{}}',
    },
  ];
  test.each(cases)('$name', ({ message, expect: expected }) => {
    expect(withId(message, '99').toString()).toBe(expected);
  });
});

describe('an object anew', () => {
  const message = request(
    '{"jsonrpc":"2.0","id":1,"method":"m","params":{ "a" : 1.0 ,"b":[2], "__proto__":3 , "c":{}}}',
  );
  const { params } = message;
  if (params === undefined) throw new Error('no params');

  const cases: readonly {
    name: string;
    edit: { drop?: (key: string) => boolean; set?: Record<string, Raw> };
    expect: string;
  }[] = [
    { name: 'unchanged', edit: {}, expect: '{"a" : 1.0 ,"b":[2], "__proto__":3 , "c":{}}' },
    { name: 'without the first', edit: { drop: (key) => key === 'a' }, expect: '{"b":[2], "__proto__":3 , "c":{}}' },
    { name: 'without the last', edit: { drop: (key) => key === 'c' }, expect: '{"a" : 1.0 ,"b":[2], "__proto__":3}' },
    { name: 'without one inside', edit: { drop: (key) => key === 'b' }, expect: '{"a" : 1.0,"__proto__":3 , "c":{}}' },
    { name: 'without any', edit: { drop: () => true }, expect: '{}' },
    {
      name: 'with one replaced in place',
      edit: { set: { b: Buffer.from('"é"') } },
      expect: '{"a" : 1.0,"b":"é","__proto__":3 , "c":{}}',
    },
    {
      name: 'with new ones at the end',
      edit: { drop: () => true, set: { 'x"': '1', y: '2' } },
      expect: '{"x\\"":1,"y":2}',
    },
    { name: 'set and dropped means set', edit: { drop: () => true, set: { c: '0' } }, expect: '{"c":0}' },
  ];
  test.each(cases)('$name', ({ edit, expect: expected }) => {
    expect(rewrite(message.bytes, params, edit).toString()).toBe(expected);
  });

  test('means the same as editing the parsed one', () => {
    const object = fc.dictionary(awkwardText, awkwardJson, { maxKeys: 8 });
    holds(
      fc.property(object, spelling, fc.array(awkwardText), object, (value, how, drops, set) => {
        const { bytes, params: span } = request(
          spell(
            {
              jsonrpc: '2.0',
              id: 1,
              method: 'm',
              params: { ...value, ...Object.fromEntries(drops.map((key) => [key, 0])) },
            },
            how,
          ),
        );
        if (span === undefined) throw new Error('no params');
        const raw = Object.fromEntries(Object.entries(set).map(([key, entry]) => [key, JSON.stringify(entry)]));
        const made = rewrite(bytes, span, { drop: (key) => drops.includes(key), set: raw }).toString();
        const kept = Object.entries(value).filter(([key]) => !drops.includes(key));
        const plain = JSON.parse(JSON.stringify({ ...Object.fromEntries(kept), ...set }));
        expect(JSON.parse(made)).toEqual(plain);
      }),
    );
  });
});

describe('splices', () => {
  const message = request('{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"b":2}}');
  const span = (key: string): { start: number; end: number } => {
    const found = member(message.params, key);
    if (found === undefined) throw new Error(key);
    return found;
  };

  test('change only the named members, in any order', () => {
    const edits = [
      { span: span('b'), with: '"é"' },
      { span: span('a'), with: Buffer.from('[]') },
    ];
    const expected = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[],"b":"é"}}';
    expect(spliceMessage(message, edits).toString()).toBe(expected);
    expect(spliceMessage(message, [...edits].reverse()).toString()).toBe(expected);
    expect(spliceMessage(message, []).equals(message.bytes)).toBe(true);
  });

  test('that overlap, or lie outside, are an internal error', () => {
    const bytes = Buffer.from('0123456789');
    for (const spans of [
      [
        { start: 1, end: 4 },
        { start: 3, end: 5 },
      ],
      [{ start: 8, end: 11 }],
    ]) {
      const edits = spans.map((each) => ({ span: each, with: 'x' }));
      expect(() => splice(bytes, edits)).toThrow(expect.objectContaining({ reason: 'internal_error' }));
    }
  });

  test('there and back are the identity', () => {
    const cuts = fc.uniqueArray(fc.nat(40), { maxLength: 8 });
    holds(
      fc.property(fc.uint8Array({ minLength: 40, maxLength: 60 }), cuts, (bytes, places) => {
        const ends = [...places].sort((a, b) => a - b);
        const spans = ends.flatMap((end, i) => (i % 2 === 1 ? [{ start: ends[i - 1] as number, end }] : []));
        const marked = splice(
          bytes,
          spans.map((each) => ({
            span: each,
            with: Buffer.concat([Buffer.from('<'), bytes.subarray(each.start, each.end), Buffer.from('>')]),
          })),
        );
        const marks = spans.flatMap((each, i) => [
          { span: { start: each.start + 2 * i, end: each.start + 2 * i + 1 }, with: '' },
          { span: { start: each.end + 2 * i + 1, end: each.end + 2 * i + 2 }, with: '' },
        ]);
        expect(splice(marked, marks).equals(bytes)).toBe(true);
      }),
    );
  });
});
