/** JSON that can be read in one way only: everything else is refused by name, and no backend hears of it. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failures } from '../../../src/errors/failure.ts';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { cut } from '../../wire/property.ts';
import { refusal } from '../harness/behind.ts';
import { type Headers, send } from '../harness/client.ts';
import { eras, type LegacyClient, modernHeaders, modernMeta } from '../harness/eras.ts';
import { type House, launchHouse } from './house.ts';

const DEPTH = 32;

let house: House;
let live: LegacyClient;
beforeAll(async () => {
  house = await launchHouse({ limits: { jsonDepth: DEPTH } });
});
afterAll(() => house.close());
beforeEach(async () => {
  live ??= (await house.connect('/legacy/mcp')).client;
  house.forget();
});

/**
 * A request of either era that would be served as it stands, with a place for something more in its params and beside
 * them.
 */
const meta = JSON.stringify(modernMeta());
function message(inside = '', beside = ''): string {
  return `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":${meta}${inside}}${beside}}`;
}
const bytes = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
const [before = '', after = ''] = message(',"a":"@"').split('@');

interface Unreadable {
  readonly name: string;
  readonly body: string | Uint8Array;
}

interface Told {
  readonly code: number;
  readonly message: string;
  readonly reason: keyof typeof failures;
  readonly id?: number;
}

function refuses(cases: readonly Unreadable[], told: Told): void {
  describe.each(eras)('%s', (era) => {
    it.each(cases)('$name', async ({ body }) => {
      const headers = era === 'modern' ? modernHeaders('tools/list') : live.headers;
      const answer = await send(house.at(`/${era}/mcp`), { body, headers });
      const { offset, ...data } = answer.json().error.data;
      expect({ status: answer.status, type: answer.headers['content-type'], data }).toEqual({
        status: 400,
        type: 'application/json',
        data: { reason: told.reason },
      });
      expect(answer.json()).toEqual(refusal({ ...told, ...(offset === undefined ? {} : { data: { offset } }) }));
      expect(house.legacy.bytes + house.modern.bytes).toBe(0);
    });
  });
}

it('valid JSON is served', verifies('gateway:json:any-bytes'), async () => {
  const awkward = [
    message(),
    ` \t\r\n${message()} \n`,
    message(String.raw`,"a":"\ud83d\ude00 \u0000 \" \/ é 😀"`),
    message(`,"a":${'['.repeat(DEPTH - 2)}${']'.repeat(DEPTH - 2)}`),
    message(',"a":{"b":1},"c":{"b":1},"d":[{"b":1},{"b":1}]'),
    message(',"__proto__":{"constructor":1},"a":-0.0e-0'),
  ];
  for (const body of awkward) {
    const answer = await send(house.at('/modern/mcp'), { body, headers: modernHeaders('tools/list') });
    expect(answer.json()).toMatchObject({ id: 7, result: { resultType: 'complete' } });
  }
  expect(house.modern.of('tools/list')).toHaveLength(awkward.length);
});

describe('rejects invalid JSON', verifies('gateway:json:not-json'), () => {
  refuses(
    [
      { name: 'nothing', body: ' ' },
      { name: 'text', body: 'hello' },
      { name: 'half a message', body: message().slice(0, -1) },
      { name: 'more than a message', body: `${message()}}` },
      { name: 'two messages', body: `${message()}\n${message()}` },
      { name: 'a comma at the end', body: message(',"a":[1,]') },
      { name: 'single quotes', body: message(",'a':1") },
      { name: 'a name without quotes', body: message(',a:1') },
      { name: 'a comment', body: message(',/* */"a":1') },
      { name: 'NaN', body: message(',"a":NaN') },
      { name: 'a number that begins with zero', body: message(',"a":01') },
      { name: 'a number that ends with its point', body: message(',"a":1.') },
      { name: 'a control character in a string', body: message(',"a":"\n"') },
      { name: 'an escape that there is not', body: message(String.raw`,"a":"\x41"`) },
      { name: 'a byte order mark', body: `\ufeff${message()}` },
    ],
    { code: -32700, message: 'Parse error', reason: 'parse_error' },
  );
});

describe('rejects invalid UTF-8', verifies('gateway:json:invalid-utf8'), () => {
  refuses(
    [
      { name: 'a byte that never occurs', body: bytes(before, [0xff], after) },
      { name: 'a lone continuation', body: bytes(before, [0x80], after) },
      { name: 'an overlong slash', body: bytes(before, [0xc0, 0xaf], after) },
      { name: 'half a character', body: bytes(before, [0xe2, 0x82], after) },
      { name: 'a surrogate', body: bytes(before, [0xed, 0xa0, 0x80], after) },
      { name: 'beyond the last character', body: bytes(before, [0xf4, 0x90, 0x80, 0x80], after) },
      { name: 'UTF-16', body: Buffer.from(message(), 'utf16le') },
      { name: 'in a name', body: bytes('{"jsonrpc":"2.0","', [0xff], '":1}') },
    ],
    { code: -32700, message: 'Parse error', reason: 'parse_error' },
  );
});

const ambiguous: Told = { code: -32600, message: 'Ambiguous JSON', reason: 'ambiguous_json', id: 7 };

describe('rejects duplicate keys', verifies('gateway:json:duplicate-members'), () => {
  refuses(
    [
      { name: 'in the message', body: message('', ',"method":"tools/list"') },
      { name: 'in the message, an unknown member', body: message('', ',"x":1,"x":1') },
      { name: 'in params', body: message(',"a":1,"a":2') },
      { name: 'in `_meta`', body: message().replace('"_meta":{', '"_meta":{"a":1,"a":1,') },
      { name: 'far below', body: message(`,"a":${'[{"b":'.repeat(9)}{"c":1,"d":2,"c":3}${'}]'.repeat(9)}`) },
      { name: 'far apart', body: message(',"a":1,"b":[],"c":{"a":1},"a":2') },
      { name: 'the empty name', body: message(',"":1,"":2') },
      { name: 'a name that objects have', body: message(',"__proto__":1,"__proto__":2') },
    ],
    ambiguous,
  );
});

describe('is refused for two spellings of one name', verifies('gateway:json:escaped-twins'), () => {
  refuses(
    [
      { name: 'a letter and its escape', body: message(String.raw`,"a":1,"\u0061":2`) },
      { name: 'two escapes', body: message(String.raw`,"\u006A":1,"\u006a":2`) },
      { name: 'a slash', body: message(String.raw`,"a/b":1,"a\/b":2`) },
      { name: 'a character beyond ASCII', body: message(String.raw`,"é":1,"\u00e9":2`) },
      { name: 'a pair', body: message(String.raw`,"😀":1,"\ud83d\ude00":2`) },
      { name: 'of the method', body: message('', String.raw`,"\u006dethod":"tools/call"`) },
      { name: 'of the parameters', body: message('', String.raw`,"p\u0061rams":{}`) },
    ],
    ambiguous,
  );
});

describe('is refused for half a surrogate pair', verifies('gateway:json:lone-surrogate'), () => {
  refuses(
    [
      { name: 'the first half', body: message(String.raw`,"a":"\ud83d"`) },
      { name: 'the second half', body: message(String.raw`,"a":"\ude00"`) },
      { name: 'the halves exchanged', body: message(String.raw`,"a":"\ude00\ud83d"`) },
      { name: 'the first half before something else', body: message(String.raw`,"a":"\ud83d\u0041"`) },
      { name: 'in a name', body: message(String.raw`,"\uD83D":1`) },
    ],
    ambiguous,
  );
});

describe('is refused for nesting over the limit', verifies('gateway:json:too-deep'), () => {
  const nested = (open: string, close: string, levels: number) =>
    message(`,"a":${open.repeat(levels)}1${close.repeat(levels)}`);
  refuses(
    [
      { name: 'arrays', body: nested('[', ']', DEPTH - 1) },
      { name: 'objects', body: nested('{"a":', '}', DEPTH - 1) },
      { name: 'without an end', body: `${message().slice(0, -2)},"a":${'['.repeat(100_000)}` },
    ],
    { code: -32600, message: 'Nested too deeply', reason: 'too_deep', id: 7 },
  );
});

const badId: Told = { code: -32600, message: 'id must be a string or an integer', reason: 'invalid_request' };
const withId = (id: string) => message().replace('"id":7', `"id":${id}`);

describe('is refused for `id: null`', verifies('gateway:json:null-id'), () => {
  refuses([{ name: 'null', body: withId('null') }], badId);
});

describe('is refused for a fractional id', verifies('gateway:json:fractional-id'), () => {
  refuses(
    ['1.5', '1.0', '-0.5', '1e3', '1E-2'].map((id) => ({ name: id, body: withId(id) })),
    badId,
  );
});

describe('is refused for a response with both result and error', verifies('gateway:json:result-and-error'), () => {
  const error = '"error":{"code":1,"message":"x"}';
  refuses(
    [
      { name: 'result first', body: `{"jsonrpc":"2.0","id":7,"result":{},${error}}` },
      { name: 'error first', body: `{"jsonrpc":"2.0","id":7,${error},"result":{}}` },
    ],
    { code: -32600, message: 'Both result and error', reason: 'invalid_request' },
  );
});

describe('rejects JSON that is not a JSON-RPC message', verifies('gateway:json:unknown-shape'), () => {
  const shapes: readonly (Unreadable & Pick<Told, 'message' | 'id'>)[] = [
    { name: 'a string', body: '"tools/list"', message: 'A message must be an object' },
    { name: 'a number', body: '7', message: 'A message must be an object' },
    { name: 'null', body: 'null', message: 'A message must be an object' },
    { name: 'an empty object', body: '{}', message: 'jsonrpc must be "2.0"' },
    { name: 'JSON-RPC 1.0', body: '{"id":7,"method":"ping","params":[]}', message: 'jsonrpc must be "2.0"', id: 7 },
    {
      name: 'another version',
      body: '{"jsonrpc":2.0,"id":7,"method":"ping"}',
      message: 'jsonrpc must be "2.0"',
      id: 7,
    },
    { name: 'an id alone', body: '{"jsonrpc":"2.0","id":7}', message: 'Neither method nor result nor error', id: 7 },
    {
      name: 'a method that is a number',
      body: '{"jsonrpc":"2.0","id":7,"method":1}',
      message: 'method must be a string',
      id: 7,
    },
    {
      name: 'positional parameters',
      body: '{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}',
      message: 'params must be an object',
      id: 7,
    },
    {
      name: 'an id that is an object',
      body: '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      message: 'id must be a string or an integer',
    },
    {
      name: 'an id that is true',
      body: '{"jsonrpc":"2.0","id":true,"method":"ping"}',
      message: 'id must be a string or an integer',
    },
    {
      name: 'a method and a result',
      body: '{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}',
      message: 'Both a method and a result or error',
      id: 7,
    },
    {
      name: 'a result of no request',
      body: '{"jsonrpc":"2.0","result":{}}',
      message: 'id must be a string or an integer',
    },
    {
      name: 'a result that is a string',
      body: '{"jsonrpc":"2.0","id":7,"result":""}',
      message: 'result must be an object',
    },
    {
      name: 'an error without a code',
      body: '{"jsonrpc":"2.0","id":7,"error":{"message":""}}',
      message: 'error.code must be an integer',
    },
  ];
  for (const { name, body, ...told } of shapes) {
    refuses([{ name, body }], { code: -32600, reason: 'invalid_request', ...told });
  }
});

describe('any bytes', verifies('gateway:json:any-bytes'), () => {
  const seed = Number(process.env.BASCULE_SEED ?? 20260728);
  const whole = message(',"cursor":"\u00e9"');
  const arbitraryBytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.json().map((text) => Buffer.from(text)),
    // A message with something else in one place.
    fc
      .record({ at: fc.nat(Buffer.byteLength(whole) - 1), gone: fc.nat(4), put: fc.uint8Array({ maxLength: 4 }) })
      .map(({ at, gone, put }) => {
        const good = Buffer.from(whole);
        return Buffer.concat([good.subarray(0, at), put, good.subarray(at + gone)]);
      }),
  );

  /** Status and body; the pieces leave one by one. */
  async function say(pieces: readonly Uint8Array[], headers: Headers): Promise<string> {
    const client = new RawClient(Number(new URL(house.gateway.origin).port));
    const framing = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json', Connection: 'close' };
    client.socket.setNoDelay(true);
    client.send(head('POST', '/modern/mcp', { Accept: 'application/json', ...headers, ...framing }));
    for (const piece of pieces.filter(({ byteLength }) => byteLength > 0)) {
      client.send(Buffer.concat([Buffer.from(`${piece.byteLength.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.send('0\r\n\r\n');
    await client.closed;
    const [start = '', body = ''] = client.received.split('\r\n\r\n');
    return `${start.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)} ${body}`;
  }

  function expectNamed(answer: string): void {
    const status = Number(answer.slice(0, 3));
    if (status === 202) return;
    const said = JSON.parse(answer.slice(4));
    expect(said.jsonrpc).toBe('2.0');
    if (said.error === undefined) expect(said.result).toBeInstanceOf(Object);
    else expect(Object.keys(failures)).toContain(said.error.data.reason);
    expect(said.error?.data.reason).not.toBe('internal_error');
  }

  it('give a message or a named error, however they are chunked', async () => {
    const headers = modernHeaders('tools/list');
    const property = fc.asyncProperty(
      arbitraryBytes,
      fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
      async (bytes, places) => {
        const answer = await say([bytes], headers);
        expectNamed(answer);
        expect(await say(cut(bytes, places), headers)).toBe(answer);
      },
    );
    await fc.assert(property, { seed, numRuns: 150 });
    expect(house.gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('of a message give the same, cut at each of its bytes', async () => {
    const good = Buffer.from(whole);
    const pieces = Array.from(good, (byte) => Buffer.from([byte]));
    expect(await say(pieces, modernHeaders('tools/list'))).toMatch(/^200 \{"jsonrpc":"2.0","id":7,"result":/);
    const bad = Buffer.from(`${whole.slice(0, -1)},"id":8}`);
    const bytewise = Array.from(bad, (byte) => Buffer.from([byte]));
    expect(await say(bytewise, modernHeaders('tools/list'))).toBe(await say([bad], modernHeaders('tools/list')));
  });
});
