import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { Batch, Message } from '../../src/wire/message.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { skimMessage } from '../../src/wire/skim.ts';
import { textAt } from '../../src/wire/values.ts';
import { noted, type Outline, outline } from './outlines.ts';
import { awkwardJson, awkwardText, holds, spell, spelling } from './property.ts';

interface Reader {
  readonly name: string;
  readonly read: (bytes: Uint8Array) => Message | Batch;
}

const readers: readonly Reader[] = [
  { name: 'the strict reader', read: (bytes) => readMessage(bytes, { depth: 128 }) },
  { name: 'the lenient reader', read: skimMessage },
];

const long = 'x'.repeat(300);

const valid: readonly { name: string; input: string; expect: Partial<Outline> }[] = [
  {
    name: 'a request',
    input: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,{"c":"}"}]}}}',
    expect: {
      kind: 'request',
      id: '1',
      key: 'n1',
      method: 'tools/call',
      params: { name: '"a"', arguments: '{"b":[1,{"c":"}"}]}' },
      meta: undefined,
    },
  },
  {
    name: 'a request without params',
    input: '{"jsonrpc":"2.0","id":"x","method":"ping"}',
    expect: { kind: 'request', id: '"x"', key: 'sx', params: undefined, meta: undefined },
  },
  {
    name: 'id zero',
    input: '{"jsonrpc":"2.0","id":0,"method":"ping"}',
    expect: { id: '0', key: 'n0' },
  },
  {
    name: 'the string "0" as id, which is another',
    input: '{"jsonrpc":"2.0","id":"0","method":"ping"}',
    expect: { id: '"0"', key: 's0' },
  },
  {
    name: 'an empty string as id',
    input: '{"jsonrpc":"2.0","id":"","method":"ping"}',
    expect: { id: '""', key: 's' },
  },
  {
    name: 'an id beyond what a double holds, in its own spelling',
    input: '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}',
    expect: { id: '123456789012345678901234567890', key: 'n123456789012345678901234567890' },
  },
  {
    name: 'minus zero, which equals zero and keeps its spelling',
    input: '{"jsonrpc":"2.0","id":-0,"method":"ping"}',
    expect: { id: '-0', key: 'n0' },
  },
  {
    name: 'a negative id',
    input: '{"jsonrpc":"2.0","id":-12,"method":"ping"}',
    expect: { id: '-12', key: 'n-12' },
  },
  {
    name: 'an escaped id, equal to its plain spelling',
    input: '{"jsonrpc":"2.0","id":"\\u0061\\n","method":"ping"}',
    expect: { id: '"\\u0061\\n"', key: 'sa\n' },
  },
  {
    name: 'members in any order, and unknown ones',
    input: '{"x":[],"params":{},"method":"m","y":null,"id":7,"jsonrpc":"2.0"}',
    expect: {
      kind: 'request',
      id: '7',
      method: 'm',
      params: {},
    },
  },
  {
    name: 'escaped names and version',
    input: '{"json\\u0072pc":"2\\u002e0","i\\u0064":7,"meth\\u006fd":"\\u006d","p\\u0061rams":{"\\u005fmeta":{"k":1}}}',
    expect: { kind: 'request', id: '7', method: 'm', params: { _meta: '{"k":1}' }, meta: { k: '1' } },
  },
  {
    name: 'meta of a request, other spellings of numbers kept',
    input: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":1.0,"_meta":{"progressToken":1e2,"x":{"_meta":{}}}}}',
    expect: {
      params: { n: '1.0', _meta: '{"progressToken":1e2,"x":{"_meta":{}}}' },
      meta: { progressToken: '1e2', x: '{"_meta":{}}' },
    },
  },
  {
    name: 'meta that is no object',
    input: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":[1]}}',
    expect: { params: { _meta: '[1]' }, meta: undefined },
  },
  {
    name: 'a notification',
    input: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    expect: { kind: 'notification', method: 'notifications/initialized', params: undefined },
  },
  {
    name: 'a result',
    input: '{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"a":[]}}}',
    expect: { kind: 'result', id: '1', result: { content: '[]', _meta: '{"a":[]}' }, meta: { a: '[]' } },
  },
  {
    name: 'an empty result',
    input: '{"jsonrpc":"2.0","id":"a","result":{}}',
    expect: { kind: 'result', key: 'sa', result: {}, meta: undefined },
  },
  {
    name: 'a result next to stray params, whose meta is not its own',
    input: '{"jsonrpc":"2.0","id":1,"result":{"a":1},"params":{"_meta":{"b":2}}}',
    expect: { kind: 'result', result: { a: '1' }, meta: undefined },
  },
  {
    name: 'an error',
    input: '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"x":1}}}',
    expect: { kind: 'error', id: '1', error: { code: '-32601', message: '"no"', data: '{"x":1}' } },
  },
  {
    name: 'an error without id',
    input: '{"jsonrpc":"2.0","error":{"code":1,"message":""}}',
    expect: { kind: 'error', id: undefined },
  },
  {
    name: 'an error with id null',
    input: '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}',
    expect: { kind: 'error', id: undefined },
  },
  {
    name: 'names that mean something to JavaScript',
    input:
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"__proto__":{"a":1},"constructor":1,"toString":2,"hasOwnProperty":3}}',
    expect: { kind: 'request' },
  },
  {
    name: 'white space everywhere',
    input:
      ' \t\r\n{ "jsonrpc" : "2.0" ,\n"id"\t:\r1 , "method" : "m" , "params" : { "a" : [ 1 , { } , [ ] ] , "b" : { } } } \n',
    expect: { kind: 'request', id: '1', params: { a: '[ 1 , { } , [ ] ]', b: '{ }' } },
  },
  {
    name: 'brackets, quotes and backslashes in strings',
    input: String.raw`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"}]{[\"\\","b\"":"\\\\\"","c":"\\"}}`,
    expect: { params: { a: String.raw`"}]{[\"\\"`, 'b"': String.raw`"\\\\\""`, c: String.raw`"\\"` } },
  },
  {
    name: 'long strings, with quotes far inside',
    input: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"${long}":"${long}\\"${long}\\\\","z":"${long}"}}`,
    expect: { params: { [long]: `"${long}\\"${long}\\\\"`, z: `"${long}"` } },
  },
  {
    name: 'characters of every length in names and values',
    input: '{"jsonrpc":"2.0","id":"é","method":"世界","params":{"😀é":"\u0080߿ࠀ퟿\ue000\uffff𐀀\u{10ffff}"}}',
    expect: { id: '"é"', key: 'sé', method: '世界', params: { '😀é': '"\u0080߿ࠀ퟿\ue000\uffff𐀀\u{10ffff}"' } },
  },
  {
    name: 'every kind of number',
    input: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[0,-0,1,-1,10,0.5,-0.5e10,1E+2,1e-2,0e0,123456789012]}}',
    expect: { params: { a: '[0,-0,1,-1,10,0.5,-0.5e10,1E+2,1e-2,0e0,123456789012]' } },
  },
  {
    name: 'words and every escape',
    input: String.raw`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[true,false,null],"b":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}}`,
    expect: { kind: 'request' },
  },
];

describe.each(readers)('$name', ({ read }) => {
  test.each(valid)('reads $name', ({ input, expect: expected }) => {
    const bytes = Buffer.from(input);
    const message = read(bytes);
    expect(outline(message)).toMatchObject(expected);
    if (message.kind === 'batch') return;
    for (const { members } of noted(message)) {
      for (const { key, keyStart, start, end } of members) {
        const alone = JSON.parse(`{${textAt(bytes, { start: keyStart, end })}}`) as Record<string, unknown>;
        expect(Object.keys(alone)).toEqual([key]);
        expect(JSON.parse(textAt(bytes, { start, end }))).toEqual(Object.values(alone)[0]);
      }
    }
  });

  test.each(valid)('reads $name at any position of its bytes', ({ input }) => {
    const whole = outline(read(Buffer.from(input)));
    for (const offset of [0, 1, 2, 3, 5]) {
      const memory = new Uint8Array(Buffer.byteLength(input) + offset + 9).fill(0x22);
      const bytes = memory.subarray(offset, offset + Buffer.byteLength(input));
      bytes.set(Buffer.from(input));
      expect(outline(read(bytes))).toEqual(whole);
    }
  });

  test.each(valid)('refuses $name with its end cut off anywhere', ({ input }) => {
    const bytes = Buffer.from(input.trimEnd());
    for (let end = 0; end < bytes.byteLength; end++) expect(() => read(bytes.subarray(0, end))).toThrow(Failure);
  });

  test.each(valid)('refuses $name with something behind it', ({ input }) => {
    for (const trail of ['x', '{}', ',', '}', '\0', '\ufeff', '1']) {
      expect(() => read(Buffer.from(input + trail))).toThrow(Failure);
    }
    expect(outline(read(Buffer.from(`${input} \r\n\t`)))).toEqual(outline(read(Buffer.from(input))));
  });

  test('sees an array at its first byte and reads no further', () => {
    for (const text of ['[', ' \n[{"jsonrpc"', '[]']) expect(read(Buffer.from(text)).kind).toBe('batch');
  });

  const refused: readonly { name: string; input: string }[] = [
    { name: 'nothing', input: '' },
    { name: 'white space alone', input: ' \n' },
    { name: 'a byte order mark', input: '\ufeff{"jsonrpc":"2.0","method":"m"}' },
    { name: 'a string', input: '"jsonrpc"' },
    { name: 'a number', input: '1' },
    { name: 'null', input: 'null' },
    { name: 'an empty object', input: '{}' },
    { name: 'no jsonrpc', input: '{"id":1,"method":"m"}' },
    { name: 'another jsonrpc', input: '{"jsonrpc":"1.0","id":1,"method":"m"}' },
    { name: 'jsonrpc as a number', input: '{"jsonrpc":2.0,"id":1,"method":"m"}' },
    { name: 'neither method nor answer', input: '{"jsonrpc":"2.0","id":1}' },
    { name: 'method and result', input: '{"jsonrpc":"2.0","id":1,"method":"m","result":{}}' },
    { name: 'method and error', input: '{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":""}}' },
    { name: 'result and error', input: '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}' },
    { name: 'an empty method', input: '{"jsonrpc":"2.0","id":1,"method":""}' },
    { name: 'a method that is no string', input: '{"jsonrpc":"2.0","id":1,"method":["m"]}' },
    { name: 'null as method', input: '{"jsonrpc":"2.0","id":1,"method":null}' },
    { name: 'null as id of a request', input: '{"jsonrpc":"2.0","id":null,"method":"m"}' },
    { name: 'a fractional id', input: '{"jsonrpc":"2.0","id":1.5,"method":"m"}' },
    { name: 'a whole id spelled as a fraction', input: '{"jsonrpc":"2.0","id":1.0,"method":"m"}' },
    { name: 'an id with an exponent', input: '{"jsonrpc":"2.0","id":1e3,"method":"m"}' },
    { name: 'a boolean id', input: '{"jsonrpc":"2.0","id":true,"method":"m"}' },
    { name: 'an object as id', input: '{"jsonrpc":"2.0","id":{},"method":"m"}' },
    { name: 'positional params', input: '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}' },
    { name: 'null as params', input: '{"jsonrpc":"2.0","id":1,"method":"m","params":null}' },
    { name: 'a result without id', input: '{"jsonrpc":"2.0","result":{}}' },
    { name: 'a result with id null', input: '{"jsonrpc":"2.0","id":null,"result":{}}' },
    { name: 'a result that is no object', input: '{"jsonrpc":"2.0","id":1,"result":[]}' },
    { name: 'null as result', input: '{"jsonrpc":"2.0","id":1,"result":null}' },
    { name: 'an error that is no object', input: '{"jsonrpc":"2.0","id":1,"error":"no"}' },
    { name: 'an error with a fractional id', input: '{"jsonrpc":"2.0","id":0.5,"error":{"code":1,"message":""}}' },
    { name: 'two ids', input: '{"jsonrpc":"2.0","id":1,"method":"m","id":2}' },
    { name: 'two methods', input: '{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}' },
    { name: 'two results', input: '{"jsonrpc":"2.0","id":1,"result":{},"r\\u0065sult":{}}' },
    { name: 'brackets that do not match', input: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[{]}}}' },
    { name: 'a comma too many', input: '{"jsonrpc":"2.0","id":1,"method":"m",}' },
    { name: 'a name without quotes', input: '{"jsonrpc":"2.0","id":1,method:"m"}' },
    { name: 'no colon', input: '{"jsonrpc" "2.0","id":1,"method":"m"}' },
    { name: 'a comment', input: '{"jsonrpc":"2.0",/**/"id":1,"method":"m"}' },
  ];

  test.each(refused)('refuses $name', ({ input }) => {
    expect(() => read(Buffer.from(input))).toThrow(Failure);
  });

  test('gives a message or a failure for any bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.constantFrom(...valid).chain(({ input }) =>
        fc
          .record({ at: fc.nat(), drop: fc.nat(3), insert: fc.uint8Array({ maxLength: 3 }) })
          .map(({ at, drop, insert }) => {
            const source = Buffer.from(input);
            const place = at % (source.byteLength + 1);
            return Buffer.concat([source.subarray(0, place), insert, source.subarray(place + drop)]);
          }),
      ),
    );
    holds(
      fc.property(bytes, (input) => {
        try {
          expect(read(input)).toHaveProperty('kind');
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Failure);
        }
      }),
      3000,
    );
  });
});

describe.each(readers)('$name serves one message after the other', ({ read }) => {
  test.each([
    ['cut off', '{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"x":1}'],
    ['refused as a whole', '{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"x":1}},"result":{}}'],
    ['read', '{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"x":1}}}'],
  ])('and keeps nothing of one that was %s', (_, before) => {
    try {
      read(Buffer.from(before));
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(Failure);
    }
    const after = read(Buffer.from('{"jsonrpc":"2.0","id":2,"result":{}}'));
    expect(outline(after)).toEqual({ kind: 'result', id: '2', key: 'n2', result: {}, meta: undefined });
    expect(() => read(Buffer.from('{"jsonrpc":"2.0"}'))).toThrow('Neither method nor result nor error');
  });
});

test('both readers find the same spans in any valid message', () => {
  const body = fc.dictionary(awkwardText, awkwardJson, { maxKeys: 20 });
  const meta = fc.option(body, { nil: undefined });
  const id = fc.oneof(fc.maxSafeInteger(), awkwardText);
  const message = fc.oneof(
    fc.record({ id, params: body, meta }).map(({ params, meta: _meta, ...rest }) => ({
      jsonrpc: '2.0',
      ...rest,
      method: 'm',
      params: _meta === undefined ? params : { ...params, _meta },
    })),
    fc.record({ id, result: body, meta }).map(({ result, meta: _meta, ...rest }) => ({
      ...rest,
      result: _meta === undefined ? result : { _meta, ...result },
      jsonrpc: '2.0',
    })),
    fc.record({ data: awkwardJson }).map(({ data }) => ({ error: { code: 1, message: 'm', data }, jsonrpc: '2.0' })),
  );
  holds(
    fc.property(message, spelling, (value, how) => {
      const bytes = Buffer.from(spell(value, how));
      const strict = readMessage(bytes, { depth: 128 }) as Message;
      expect(skimMessage(bytes)).toEqual(strict);
      expect(JSON.parse(bytes.toString())).toEqual(value);
      for (const span of noted(strict)) expect(JSON.parse(textAt(bytes, span))).toEqual(expect.any(Object));
    }),
  );
});
