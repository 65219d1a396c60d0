import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { Message } from '../../src/wire/message.ts';
import { membersAt, skimMessage } from '../../src/wire/skim.ts';
import { member } from '../../src/wire/values.ts';
import { outline } from './outlines.ts';

function skim(text: string): Message {
  const message = skimMessage(Buffer.from(text));
  if (message.kind === 'batch') throw new Error('a batch');
  return message;
}

describe('what a backend may do', () => {
  const cases: readonly { name: string; input: string; kind: Message['kind'] }[] = [
    { name: 'an error without a code', input: '{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}', kind: 'error' },
    {
      name: 'an error with a code in a string',
      input: '{"jsonrpc":"2.0","id":1,"error":{"code":"E_NO"}}',
      kind: 'error',
    },
    { name: 'an error with id null', input: '{"jsonrpc":"2.0","id":null,"error":{}}', kind: 'error' },
    { name: 'duplicate keys in a result', input: '{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', kind: 'result' },
    { name: 'half a surrogate pair', input: '{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}', kind: 'result' },
    { name: 'numbers of its own', input: '{"jsonrpc":"2.0","id":1,"result":{"a":[01,1.,1]}}', kind: 'result' },
    { name: 'unknown escapes', input: '{"jsonrpc":"2.0","id":1,"result":{"\\x":"\\q"}}', kind: 'result' },
    { name: 'raw control characters', input: '{"jsonrpc":"2.0","id":1,"result":{"a":"\n\t"}}', kind: 'result' },
  ];
  test.each(cases)('$name', ({ input, kind }) => {
    expect(skim(input).kind).toBe(kind);
  });

  test('bytes that are no text', () => {
    const [before, after] = '{"jsonrpc":"2.0","id":1,"result":{"a":"?"}}'.split('?') as [string, string];
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from(after)]);
    expect(skimMessage(bytes).kind).toBe('result');
  });
});

test('everything else is an invalid response of the backend', () => {
  for (const text of ['', 'x', '{}', '<html>', '{"jsonrpc":"2.0","id":1,"result":{"a":[}]}', '{"jsonrpc":"2.0"']) {
    expect(() => skim(text)).toThrow(expect.objectContaining({ reason: 'backend_invalid' }));
  }
});

test('strings of every length and alignment are passed over', () => {
  for (let length = 0; length < 140; length++) {
    for (const tail of ['', '\\"', '\\\\', '\\\\\\"', '\\n', 'é']) {
      const value = JSON.stringify('x'.repeat(length)).slice(0, -1) + tail;
      const message = skim(`{"jsonrpc":"2.0","id":1,"result":{"a":[${value}"],"b":${value}"}}`);
      expect(outline(message).result).toEqual({ a: `[${value}"]`, b: `${value}"` });
    }
  }
});

test('nesting is bounded, not the stack', () => {
  const nested = (levels: number): string =>
    `{"jsonrpc":"2.0","id":1,"result":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
  expect(skim(nested(1000)).kind).toBe('result');
  expect(() => skim(nested(1_000_000))).toThrow(Failure);
});

describe('the members of an object deeper inside', () => {
  const message = skim('{"jsonrpc":"2.0","id":1,"result":{"tools":[1],"x": { "a" : 1, "_meta": {"b":{}} } }}');
  const result = message.kind === 'result' ? message.result : undefined;

  test('are found where they are', () => {
    const span = member(result, 'x');
    const inner = span && membersAt(message.bytes, span);
    expect(inner).toMatchObject({ start: span?.start, end: span?.end });
    expect(inner?.members.map(({ key }) => key)).toEqual(['a', '_meta']);
    const meta = member(inner, '_meta');
    expect(meta && membersAt(message.bytes, meta)?.members.map(({ key }) => key)).toEqual(['b']);
  });

  test('do not exist in anything else', () => {
    const span = member(result, 'tools');
    expect(span && membersAt(message.bytes, span)).toBeUndefined();
  });
});
