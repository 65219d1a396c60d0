import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { comment, encodeEvent, type SseEvent, SseReader } from '../../src/wire/sse.ts';
import { awkwardJson, cut, holds, spell, spelling } from './property.ts';

const limits = { eventBytes: 4096 };

interface Told {
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
  readonly retry?: number;
}

/** An event with its data as text, and without what it does not have. */
function told({ event, id, data, retry }: SseEvent): Told {
  return {
    ...(event === undefined ? {} : { event }),
    ...(id === undefined ? {} : { id }),
    ...(data === undefined ? {} : { data: Buffer.from(data).toString() }),
    ...(retry === undefined ? {} : { retry }),
  };
}

/** Everything a stream in pieces tells; a failure ends it. */
function read(pieces: readonly Uint8Array[], within = limits): (Told | string)[] {
  const reader = new SseReader(within);
  const heard: (Told | string)[] = [];
  try {
    for (const piece of pieces) heard.push(...reader.push(piece).map(told));
    if (reader.failure !== undefined) throw reader.failure;
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    heard.push(thrown.reason);
  }
  return heard;
}

const bytewise = (bytes: Uint8Array): Uint8Array[] => Array.from(bytes, (byte) => Uint8Array.of(byte));

describe('a stream', () => {
  const cases: readonly { name: string; input: string; expect: (Told | string)[] }[] = [
    { name: 'one event', input: 'data: a\n\n', expect: [{ data: 'a' }] },
    { name: 'an event without its blank line', input: 'data: a\n', expect: [] },
    {
      name: 'carriage returns and line feeds',
      input: 'data: a\r\n\r\ndata: b\r\n\r\n',
      expect: [{ data: 'a' }, { data: 'b' }],
    },
    { name: 'carriage returns alone', input: 'data: a\r\rdata: b\r\r', expect: [{ data: 'a' }, { data: 'b' }] },
    {
      name: 'all line ends mixed',
      input: 'data: a\rdata: b\ndata: c\r\n\rdata: d\n\r\n',
      expect: [{ data: 'a\nb\nc' }, { data: 'd' }],
    },
    { name: 'several data lines', input: 'data: a\ndata:\ndata: b\n\n', expect: [{ data: 'a\n\nb' }] },
    { name: 'only one space removed', input: 'data:  a\ndata:b\n\n', expect: [{ data: ' a\nb' }] },
    { name: 'data without colon', input: 'data\ndata\n\n', expect: [{ data: '\n' }] },
    {
      name: 'empty data with an id, which opens a stream',
      input: 'id: 7\ndata: \n\n',
      expect: [{ id: '7', data: '' }],
    },
    { name: 'an id alone', input: 'id: 7\n\n', expect: [{ id: '7' }] },
    { name: 'an id that is reset', input: 'id\n\n', expect: [{ id: '' }] },
    { name: 'an id with NUL, which does not count', input: 'id: a\0b\ndata: x\n\n', expect: [{ data: 'x' }] },
    {
      name: 'the id of its own event only',
      input: 'id: 1\ndata: a\n\ndata: b\n\n',
      expect: [{ id: '1', data: 'a' }, { data: 'b' }],
    },
    { name: 'a retry time alone', input: 'retry: 1500\n\n', expect: [{ retry: 1500 }] },
    {
      name: 'invalid retry times',
      input: 'retry: -1\nretry: 1.5\nretry: 1e3\nretry: \nretry: a\ndata: x\n\n',
      expect: [{ data: 'x' }],
    },
    { name: 'a retry time beyond reason', input: `retry: ${'9'.repeat(40)}\ndata: x\n\n`, expect: [{ data: 'x' }] },
    {
      name: 'a named event',
      input: 'event: endpoint\ndata: /messages\n\n',
      expect: [{ event: 'endpoint', data: '/messages' }],
    },
    { name: 'a name without data, which is no event', input: 'event: a\n\ndata: b\n\n', expect: [{ data: 'b' }] },
    { name: 'an empty name', input: 'event:\ndata: b\n\n', expect: [{ data: 'b' }] },
    { name: 'comments', input: ': hello\n\n:\ndata: a\n:x\n\n', expect: [{ data: 'a' }] },
    { name: 'unknown fields', input: 'dat: x\ndatas: x\nDATA: x\n data: x\nfoo\ndata: a\n\n', expect: [{ data: 'a' }] },
    { name: 'a byte order mark at the start', input: '\ufeffdata: a\n\n', expect: [{ data: 'a' }] },
    { name: 'a byte order mark anywhere else', input: '\n\ufeffdata: a\n\n', expect: [] },
    { name: 'blank lines in numbers', input: '\n\n\r\n\r\rdata: a\n\n\n\n', expect: [{ data: 'a' }] },
    {
      name: 'characters of every length',
      input: 'event: é\nid: 世\ndata: 😀é世\n\n',
      expect: [{ event: 'é', id: '世', data: '😀é世' }],
    },
    { name: 'a colon in the data', input: 'data: {"a":1}\n\n', expect: [{ data: '{"a":1}' }] },
    {
      name: 'an event that is too large, after one that is not',
      input: `data: a\n\ndata: ${'x'.repeat(5000)}\n\ndata: b\n\n`,
      expect: [{ data: 'a' }, 'backend_too_large'],
    },
    {
      name: 'an event of too many lines',
      input: `data: a\n\n${'data:\n'.repeat(1000)}`,
      expect: [{ data: 'a' }, 'backend_too_large'],
    },
    { name: 'a comment without end', input: `:${'x'.repeat(5000)}`, expect: ['backend_too_large'] },
    {
      name: 'many events that are large only together',
      input: `data: ${'x'.repeat(3000)}\n\n`.repeat(3),
      expect: Array.from({ length: 3 }, () => ({ data: 'x'.repeat(3000) })),
    },
  ];

  test.each(cases)('with $name', ({ input, expect: expected }) => {
    expect(read([Buffer.from(input)])).toEqual(expected);
  });

  test.each(cases)('with $name, byte by byte', ({ input, expect: expected }) => {
    expect(read(bytewise(Buffer.from(input)))).toEqual(expected);
  });

  test.each(cases)('with $name, and something begun behind it', ({ input, expect: expected }) => {
    for (const trail of [': more', 'i', 'x: y']) expect(read([Buffer.from(input + trail)])).toEqual(expected);
  });
});

test('complete events are delivered before the failure', () => {
  const reader = new SseReader({ eventBytes: 20 });
  const events = reader.push(Buffer.from(`data: a\n\ndata: ${'x'.repeat(30)}\n\n`));
  expect(events.map(told)).toEqual([{ data: 'a' }]);
  expect(reader.failure?.reason).toBe('backend_too_large');
  expect(() => reader.push(Buffer.from('data: b\n\n'))).toThrow(Failure);
});

test('data that lies in one chunk is not copied', () => {
  const chunk = Buffer.from('data: {"a":1}\n\n');
  const [event] = new SseReader(limits).push(chunk);
  expect(event?.data?.buffer).toBe(chunk.buffer);
});

test('how a stream is chunked changes nothing', () => {
  const line = fc.oneof(
    fc.constantFrom(
      'data: a',
      'data:',
      'data',
      'id: 1',
      'id:\0',
      'retry: 5',
      'event: e',
      ':c',
      'x: y',
      '',
      '\ufeffdata: é😀',
    ),
    fc.string({ unit: 'binary', maxLength: 30 }).map((text) => `data: ${text}`),
  );
  const stream = fc
    .array(fc.record({ line, end: fc.constantFrom('\n', '\r', '\r\n') }), { maxLength: 30 })
    .map((lines) => Buffer.from(lines.map((each) => each.line + each.end).join('')));
  holds(
    fc.property(stream, fc.array(fc.nat()), fc.integer({ min: 20, max: 200 }), (bytes, places, eventBytes) => {
      const whole = read([bytes], { eventBytes });
      expect(read(cut(bytes, places), { eventBytes })).toEqual(whole);
      expect(read(bytewise(bytes), { eventBytes })).toEqual(whole);
    }),
    1000,
  );
});

test('any bytes give events or a failure', () => {
  holds(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat()), (bytes, places) => {
      expect(read(cut(bytes, places), { eventBytes: 100 })).toEqual(read([bytes], { eventBytes: 100 }));
    }),
  );
});

describe('an event that is sent', () => {
  const cases: readonly { name: string; event: Parameters<typeof encodeEvent>[0]; expect: string }[] = [
    { name: 'data', event: { data: '{"a":1}' }, expect: 'data: {"a":1}\n\n' },
    { name: 'bytes', event: { data: Buffer.from('{"é":1}') }, expect: 'data: {"é":1}\n\n' },
    {
      name: 'all fields',
      event: { id: '5', event: 'message', retry: 100, data: '1' },
      expect: 'event: message\nid: 5\nretry: 100\ndata: 1\n\n',
    },
    { name: 'an id and empty data', event: { id: '5', data: '' }, expect: 'id: 5\ndata: \n\n' },
    { name: 'a retry time alone', event: { retry: 0 }, expect: 'retry: 0\n\n' },
    { name: 'printed text', event: { data: '{\n "a":1\r\n}\r' }, expect: 'data: {\ndata:  "a":1\ndata: }\ndata: \n\n' },
    {
      name: 'printed bytes',
      event: { data: Buffer.from('{\n "a":1\r\n}\r') },
      expect: 'data: {\ndata:  "a":1\ndata: }\ndata: \n\n',
    },
  ];
  test.each(cases)('has $name', ({ event, expect: expected }) => {
    expect(encodeEvent(event).toString()).toBe(expected);
  });

  test('cannot be made to begin another field', () => {
    for (const event of [{ id: '1\ndata: x' }, { event: 'a\rb' }]) {
      expect(() => encodeEvent(event)).toThrow(expect.objectContaining({ reason: 'internal_error' }));
    }
  });

  test('is read unchanged, formatted or not', () => {
    holds(
      fc.property(awkwardJson, spelling, fc.boolean(), (value, how, asBytes) => {
        const text = spell(value, how);
        const sent = encodeEvent({ id: 'i', event: 'e', data: asBytes ? Buffer.from(text) : text });
        const [event] = read([sent], { eventBytes: 1_000_000 });
        expect(event).toEqual({ id: 'i', event: 'e', data: text });
      }),
    );
  });
});

test('comments are ignored', () => {
  expect(comment().toString()).toBe(':\n\n');
  expect(comment('a\nb\r\nc').toString()).toBe(':a\n:b\n:c\n\n');
  expect(read([comment('data: x\ndata: y'), encodeEvent({ data: '1' })])).toEqual([{ data: '1' }]);
});
