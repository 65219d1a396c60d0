import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { isRpcAnswer, readRpc, readRpcBatch, rpcOutcomes } from '../../src/wire/rpc.ts';
import { valueAt } from '../../src/wire/values.ts';

const limits = { depth: 16, members: 8 };
const bytesOf = (text: string) => Buffer.from(text);

function read(text: string) {
  const message = readRpc(bytesOf(text), limits);
  if (message.kind === 'batch') return readRpcBatch(message, limits).map(({ kind }) => kind);
  if (message.kind === 'answer') return { kind: message.kind };
  const { kind, id, method, params } = message;
  return { kind, id, method, params: params && valueAt(message.bytes, params) };
}

describe('what the reader returns', () => {
  const cases = [
    { text: '{"jsonrpc":"2.0","id":1,"method":"a"}', is: { kind: 'request', id: '1', method: 'a', params: undefined } },
    {
      text: '{"jsonrpc":"2.0","id":"\\u0031","method":"a","params":[1]}',
      is: { kind: 'request', id: '"\\u0031"', method: 'a', params: [1] },
    },
    {
      text: '{"jsonrpc":"2.0","id":null,"method":"a"}',
      is: { kind: 'request', id: 'null', method: 'a', params: undefined },
    },
    {
      text: '{"jsonrpc":"2.0","id":1e3,"method":"\\u0061"}',
      is: { kind: 'request', id: '1e3', method: 'a', params: undefined },
    },
    {
      text: '{"jsonrpc":"2.0","method":"a","params":{"b":1}}',
      is: { kind: 'notification', id: undefined, method: 'a', params: { b: 1 } },
    },
    { text: '{"jsonrpc":"2.0","id":1,"result":null}', is: { kind: 'answer' } },
    { text: '{"jsonrpc":"2.0","id":null,"error":{}}', is: { kind: 'answer' } },
    { text: ' [{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":1,"result":1}] ', is: ['notification', 'answer'] },
  ];
  test.each(cases)('$text', ({ text, is }) => expect(read(text)).toEqual(is));

  test('any bytes are a message or a named failure', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json().map(bytesOf), fc.uint8Array()), (bytes) => {
        try {
          const message = readRpc(bytes, limits);
          if (message.kind === 'batch') readRpcBatch(message, limits);
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('an answer of a service', () => {
  const cases = [
    { text: '{"jsonrpc":"2.0","id":1,"result":0}', one: true, many: true },
    { text: ' {"error":{},"jsonrpc":"2.0"} ', one: true, many: true },
    { text: '[{"jsonrpc":"2.0","id":1,"result":0}]', one: false, many: true },
    { text: '[]', one: false, many: false },
    { text: '[{"jsonrpc":"2.0","id":1,"result":0} 1]', one: false, many: false },
    { text: '[{"jsonrpc":"2.0","id":1,"result":0},7]', one: false, many: false },
    { text: '[{1}]', one: false, many: false },
    { text: '[', one: false, many: false },
    { text: '', one: false, many: false },
    { text: '1', one: false, many: false },
    { text: '{"jsonrpc":"2.0","id":1}', one: false, many: false },
    { text: '{"id":1,"result":0}', one: false, many: false },
    { text: '{"jsonrpc":"2.0","id":1,"result":0}x', one: false, many: false },
  ];
  test.each(cases)('$text', ({ text, one, many }) => {
    expect([isRpcAnswer(bytesOf(text), false), isRpcAnswer(bytesOf(text), true)]).toEqual([one, many]);
  });

  test('how each went is found by its id', () => {
    const outcome = rpcOutcomes(
      bytesOf('[{"id":1,"error":{"code":-32601}},{"id":"1","result":0},{"id":null,"error":{}},{"error":{}}]'),
    );
    const result = { outcome: 'result' };
    expect(['1', '"1"', 'null', '9', undefined].map(outcome)).toEqual([
      { outcome: 'error', code: -32601 },
      result,
      { outcome: 'error' },
      ...[result, result],
    ]);
    expect(rpcOutcomes(bytesOf(' {"id":1,"error":{}}'))('2')).toEqual({ outcome: 'error', code: undefined });
  });
});
