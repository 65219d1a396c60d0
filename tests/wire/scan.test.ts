import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure, type Reason } from '../../src/errors/failure.ts';
import { keyedHash, keyHashes } from '../../src/wire/duplicate-keys.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { awkwardJson, awkwardText, holds, spell, spelling } from './property.ts';

const depth = 128;

/** The key that tests have. */
keyHashes(0, 0);

function refusal(input: string | Uint8Array, limits = { depth }): Failure {
  try {
    readMessage(typeof input === 'string' ? Buffer.from(input) : input, limits);
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
  throw new Error(`not refused: ${input}`);
}

/** A request with this text as the value of one parameter. */
const around = (text: string): string => `{"jsonrpc":"2.0","id":9,"method":"m","params":{"a":${text}}}`;

describe('invalid JSON', () => {
  const values: readonly { name: string; input: string }[] = [
    { name: 'a leading zero', input: '01' },
    { name: 'a lone minus', input: '-' },
    { name: 'a plus', input: '+1' },
    { name: 'a point without digits', input: '1.' },
    { name: 'a point without an integer', input: '.5' },
    { name: 'an exponent without digits', input: '1e' },
    { name: 'an exponent with a sign and no digits', input: '1e+' },
    { name: 'hexadecimal', input: '0x1' },
    { name: 'not a number', input: 'NaN' },
    { name: 'infinity', input: '-Infinity' },
    { name: 'a word in capitals', input: 'True' },
    { name: 'a word cut short', input: 'nul' },
    { name: 'a word with trailing letters', input: 'nulls' },
    { name: 'undefined', input: 'undefined' },
    { name: 'single quotes', input: "'a'" },
    { name: 'a raw newline in a string', input: '"a\nb"' },
    { name: 'a raw tab in a string', input: '"abcdefghijkl\tb"' },
    { name: 'a raw NUL in a string', input: '"\0"' },
    { name: 'an unknown escape', input: '"\\x41"' },
    { name: 'an escape cut short', input: '"\\u12"' },
    { name: 'an escape with other letters', input: '"\\u12g4"' },
    { name: 'two commas in an array', input: '[1,,2]' },
    { name: 'a comma at the end of an array', input: '[1,]' },
    { name: 'a comma at the start of an array', input: '[,1]' },
    { name: 'no comma in an array', input: '[1 2]' },
    { name: 'a colon in an array', input: '["a":1]' },
    { name: 'a comma at the end of an object', input: '{"a":1,}' },
    { name: 'a member without a value', input: '{"a":}' },
    { name: 'a member without a colon', input: '{"a"}' },
    { name: 'a number as name', input: '{1:2}' },
    { name: 'a form feed between tokens', input: '[\f1]' },
    { name: 'a no-break space between tokens', input: '[\u00a01]' },
    { name: 'the wrong closing bracket', input: '[1}' },
    { name: 'a closing bracket too many', input: '[1]]' },
    { name: 'a comment', input: '1/**/' },
  ];
  test.each(values)('refuses $name as a value', ({ input }) => {
    expect(() => JSON.parse(around(input))).toThrow();
    const failure = refusal(around(input));
    expect(failure.reason).toBe('parse_error');
    expect(failure.id).toBeUndefined();
  });

  const encodings: readonly { name: string; bytes: number[] }[] = [
    { name: 'a lone continuation', bytes: [0x80] },
    { name: 'a lead alone', bytes: [0xc3] },
    { name: 'a lead before ASCII', bytes: [0xc3, 0x41] },
    { name: 'two bytes for ASCII', bytes: [0xc0, 0xaf] },
    { name: 'two bytes for 0x7f', bytes: [0xc1, 0xbf] },
    { name: 'three bytes for a character that needs two', bytes: [0xe0, 0x9f, 0xbf] },
    { name: 'a surrogate', bytes: [0xed, 0xa0, 0x80] },
    { name: 'a surrogate pair', bytes: [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80] },
    { name: 'three bytes cut short', bytes: [0xe4, 0xb8] },
    { name: 'four bytes for a character that needs three', bytes: [0xf0, 0x8f, 0xbf, 0xbf] },
    { name: 'four bytes cut short', bytes: [0xf0, 0x9f, 0x98] },
    { name: 'beyond the last character', bytes: [0xf4, 0x90, 0x80, 0x80] },
    { name: 'a lead of five bytes', bytes: [0xf8, 0x88, 0x80, 0x80, 0x80] },
    { name: '0xff', bytes: [0xff] },
  ];
  test.each(encodings)('refuses $name, in values and in names', ({ bytes }) => {
    for (const text of ['"xyz?"', '"?"', '"abcdefghijklmnop?qrstuvwxyz"', '{"?":1}']) {
      const [before, after] = around(text).split('?') as [string, string];
      const input = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      expect(refusal(input).reason).toBe('parse_error');
    }
  });

  test('judges UTF-8 as the platform does', () => {
    const textByte = fc.integer({ min: 0x20, max: 0xff }).filter((byte) => byte !== 0x22 && byte !== 0x5c);
    const utf8 = new TextDecoder('utf-8', { fatal: true });
    const likely = fc.constantFrom(0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0x61);
    const run = fc.array(fc.oneof(textByte, { arbitrary: likely, weight: 6 }), { minLength: 1, maxLength: 12 });
    holds(
      fc.property(run, (bytes) => {
        const [before, after] = around('"?"').split('?') as [string, string];
        const input = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
        let valid = true;
        try {
          utf8.decode(Buffer.from(bytes));
        } catch {
          valid = false;
        }
        if (valid) expect(readMessage(input, { depth }).kind).toBe('request');
        else expect(refusal(input).reason).toBe('parse_error');
      }),
      4000,
    );
  });
});

describe('ambiguous JSON', () => {
  const many = Array.from({ length: 40 }, (_, i) => `"k${i}":${i}`).join(',');
  const ambiguous: readonly { name: string; input: string }[] = [
    { name: 'duplicate keys side by side', input: '{"a":1,"a":1}' },
    { name: 'duplicate keys apart', input: '{"a":1,"b":2,"a":3}' },
    { name: 'empty duplicate keys', input: '{"":1,"":2}' },
    { name: 'an escaped duplicate key', input: '{"a":1,"\\u0061":2}' },
    { name: 'an escaped duplicate key that comes first', input: '{"\\u0061":1,"a":2}' },
    { name: 'two escaped duplicate keys', input: '{"\\u0061":1,"\\u0061":2}' },
    { name: 'a duplicate key with an escaped quote', input: '{"\\"":1,"\\u0022":2}' },
    { name: 'duplicate keys beyond ASCII', input: '{"é":1,"\\u00e9":2}' },
    { name: 'duplicate keys beyond the basic plane', input: '{"😀":1,"\\ud83d\\ude00":2}' },
    { name: 'duplicate keys in a deep object', input: '[[{"x":[{"a":1,"a":2}]}]]' },
    { name: 'duplicate keys after an inner object with the same name', input: '{"a":{"a":1},"a":2}' },
    { name: 'duplicate keys far apart in a large object', input: `{"k0":0,${many}}` },
    { name: 'a duplicate key at the end of a large object', input: `{${many},"k39":0}` },
    { name: 'an escaped duplicate key in a large object', input: `{${many},"\\u006b7":0}` },
    { name: 'duplicate keys named like array indexes', input: '{"1":1,"01":2,"1":3}' },
    { name: 'duplicate keys named __proto__', input: '{"__proto__":1,"__proto__":2}' },
    { name: 'half a pair', input: '"\\ud800"' },
    { name: 'the other half', input: '"\\udc00"' },
    { name: 'a pair the wrong way round', input: '"\\ude00\\ud83d"' },
    { name: 'two first halves', input: '"\\ud83d\\ud83d"' },
    { name: 'half a pair before something else', input: '"\\ud83d\\u0061"' },
    { name: 'half a pair before a whole one', input: '"\\ud83d\\ud83d\\ude00"' },
    { name: 'half a pair in a name', input: '{"\\ud800":1}' },
  ];
  test.each(ambiguous)('refuses $name and names the request', ({ input }) => {
    const failure = refusal(around(input));
    expect(failure.reason).toBe('ambiguous_json');
    expect(failure.id).toBe('9');
  });

  test.each(ambiguous)('calls $name no JSON at all where that is so further on', ({ input }) => {
    expect(refusal(`${around(input)}}`).reason).toBe('parse_error');
  });

  const plain: readonly { name: string; input: string }[] = [
    { name: 'the same name in two objects', input: '[{"a":1},{"a":1}]' },
    { name: 'the same name inside and outside', input: '{"a":{"a":{"a":1}},"b":{"a":1}}' },
    { name: 'names that differ in case', input: '{"a":1,"A":2}' },
    { name: 'names that differ in normal form', input: '{"\u00e9":1,"e\u0301":2}' },
    { name: 'a name and its beginning', input: '{"abcd":1,"abcde":2,"abc":3,"":4}' },
    { name: 'a name and its escape, escaped', input: '{"\\\\u0061":1,"a":2}' },
    { name: 'a large object', input: `{${many}}` },
    { name: 'large objects inside each other', input: `{${many},"x":{${many},"y":[{${many}}]},"z":0}` },
    { name: 'whole pairs', input: '"\\ud83d\\ude00\\uD83D\\uDE00"' },
  ];
  test.each(plain)('takes $name', ({ input }) => {
    expect(readMessage(Buffer.from(around(input)), { depth }).kind).toBe('request');
  });

  test('finds duplicate keys of the message itself, of its params and of its meta', () => {
    for (const input of [
      '{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":1,"x":2}}',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"x":1,"\\u0078":2}}}',
      '{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}',
      '{"params":{"x":1,"x":1},"jsonrpc":"2.0","method":"m","id":1}',
    ]) {
      expect(refusal(input)).toMatchObject({ reason: 'ambiguous_json', id: '1' });
    }
  });

  test('echoes no id where there are two', () => {
    for (const input of [
      '{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}',
      '{"jsonrpc":"2.0","id":1,"method":"m","\\u0069d":1,"method":"m"}',
    ]) {
      expect(refusal(input)).toMatchObject({ reason: 'ambiguous_json', id: undefined });
    }
  });

  test('finds duplicate keys exactly where there are some, however names are spelled', () => {
    const name = fc.record({ text: fc.oneof(awkwardText, fc.constantFrom('a', 'b', 'ab', '1', '12')), how: spelling });
    holds(
      fc.property(fc.array(name, { maxLength: 60 }), (names) => {
        const members = names.map(({ text, how }) => `${spell(text, how)}:0`);
        const isAmbiguous = new Set(names.map(({ text }) => text)).size < names.length;
        const input = around(`{${members.join(',')}}`);
        if (isAmbiguous) expect(refusal(input).reason).toBe('ambiguous_json');
        else expect(readMessage(Buffer.from(input), { depth }).kind).toBe('request');
      }),
      1500,
    );
  });

  test('finds one duplicate key among many, in any spelling, and only there', () => {
    for (const count of [7, 8, 9, 15, 16, 17, 18, 33, 64, 65, 300, 5000]) {
      const names = Array.from({ length: count }, (_, at) => (at % 3 === 0 ? `é${at}` : `name${at}`));
      const object = (list: readonly string[]): string => `{${list.map((name) => `"${name}":0`).join(',')}}`;
      const fine = object(names);
      // Several large objects of one message share their memory, one after the other and one inside another.
      const several = `[${fine},${fine},{"x":${fine},${fine.slice(1)},{"a":1}]`;
      expect(readMessage(Buffer.from(around(several)), { depth }).kind).toBe('request');
      for (const twin of ['name1', '\\u006eame1', 'é0', '\\u00e90', `name${count - (count % 3 === 0 ? 1 : 2)}`]) {
        if (!names.includes(JSON.parse(`"${twin}"`) as string)) continue;
        for (const text of [object([...names, twin]), object([twin, ...names])]) {
          expect(refusal(around(`[${fine},${text},${fine}]`)).reason).toBe('ambiguous_json');
          expect(refusal(`{"jsonrpc":"2.0","id":9,"method":"m","params":${text}}`).reason).toMatch(
            count > 1000 ? 'too_many_members' : 'ambiguous_json',
          );
        }
      }
    }
  });

  test('does not depend on the key of the hash', () => {
    const names = Array.from({ length: 3000 }, (_, at) => at.toString(36));
    const object = (list: readonly string[]): string => around(`{${list.map((name) => `"${name}":0`).join(',')}}`);
    for (const key of [0, 1, -1, 0x12345678]) {
      keyHashes(key, ~key);
      expect(readMessage(Buffer.from(object(names)), { depth }).kind).toBe('request');
      expect(refusal(object([...names, '1a'])).reason).toBe('ambiguous_json');
    }
    keyHashes(0, 0);
  });

  test('is not confused by names that are made to collide', () => {
    const names = [...colliding(300), ...sameHash];
    const object = (list: readonly string[]): string => around(`{${list.map((name) => `"${name}":0`).join(',')}}`);
    expect(readMessage(Buffer.from(object(names)), { depth }).kind).toBe('request');
    expect(refusal(object([...names, names[150] as string])).reason).toBe('ambiguous_json');
  });
});

/**
 * Names whose hashes share their low bits under the key that tests have, so that they meet in every filter of that
 * size.
 */
function colliding(count: number): string[] {
  const names: string[] = [];
  for (let i = 0; names.length < count; i++) {
    const bytes = Buffer.from(`name${i}`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if ((keyedHash(bytes, view, 0, bytes.byteLength) & 1023) === 7) names.push(`name${i}`);
  }
  return names;
}

/** Two names that have one hash under the key that tests have. */
const sameHash = (() => {
  const known = new Map<number, string>();
  for (let i = 0; ; i++) {
    const bytes = Buffer.from(i.toString(36));
    const hash = keyedHash(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.byteLength);
    const other = known.get(hash);
    if (other !== undefined) return [other, i.toString(36)];
    known.set(hash, i.toString(36));
  }
})();

describe('depth', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const objects = (levels: number): string => `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`;

  test('counts the message, its params, and their content', () => {
    for (const text of [nested, objects]) {
      expect(readMessage(Buffer.from(around(text(depth - 2))), { depth }).kind).toBe('request');
      expect(refusal(around(text(depth - 1)))).toMatchObject({ reason: 'too_deep', id: '9' });
    }
  });

  test('goes back up where objects close', () => {
    const wide = `[${Array.from({ length: 500 }, () => nested(100)).join(',')}]`;
    expect(readMessage(Buffer.from(around(wide)), { depth }).kind).toBe('request');
  });

  test('is kept for params and meta too', () => {
    const input = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{}}}';
    expect(readMessage(Buffer.from(input), { depth: 3 }).kind).toBe('request');
    expect(refusal(input, { depth: 2 })).toMatchObject({ reason: 'too_deep', id: '1' });
    expect(refusal(input, { depth: 1 }).reason).toBe('too_deep');
  });

  test('is refused at once if nothing ever closes', () => {
    expect(refusal(`{"a":${'['.repeat(1_000_000)}`).reason).toBe('too_deep');
  });
});

describe('which id a refusal carries', () => {
  const cases: readonly { name: string; input: string; id: string | undefined }[] = [
    { name: 'a request of another version', input: '{"jsonrpc":"1.0","id":"a","method":"m"}', id: '"a"' },
    { name: 'a request without method name', input: '{"jsonrpc":"2.0","id":5,"method":7}', id: '5' },
    { name: 'a request with positional params', input: '{"jsonrpc":"2.0","id":0,"method":"m","params":[]}', id: '0' },
    { name: 'a message that is neither', input: '{"jsonrpc":"2.0","id":6}', id: '6' },
    { name: 'a request and an answer at once', input: '{"jsonrpc":"2.0","id":6,"method":"m","result":{}}', id: '6' },
    { name: 'a request whose id is null', input: '{"jsonrpc":"2.0","id":null,"method":"m"}', id: undefined },
    { name: 'a request whose id is a fraction', input: '{"jsonrpc":"2.0","id":1.5,"method":"m"}', id: undefined },
    { name: 'a notification', input: '{"jsonrpc":"2.0","method":""}', id: undefined },
    { name: 'a result', input: '{"jsonrpc":"2.0","id":1,"result":[]}', id: undefined },
    { name: 'an error', input: '{"jsonrpc":"2.0","id":1,"error":{}}', id: undefined },
    { name: 'an answer of two kinds', input: '{"jsonrpc":"2.0","id":1,"error":{},"result":{}}', id: undefined },
  ];
  test.each(cases)('$name: $id', ({ input, id }) => {
    expect(refusal(input)).toMatchObject({ reason: 'invalid_request', id });
  });
});

describe('errors that clients send', () => {
  const cases: readonly { name: string; error: string }[] = [
    { name: 'no code', error: '{"message":"m"}' },
    { name: 'a fractional code', error: '{"code":1.5,"message":"m"}' },
    { name: 'a code in a string', error: '{"code":"1","message":"m"}' },
    { name: 'no message', error: '{"code":1}' },
    { name: 'a message that is no string', error: '{"code":1,"message":null}' },
  ];
  test.each(cases)('are refused with $name', ({ error }) => {
    expect(refusal(`{"jsonrpc":"2.0","id":1,"error":${error}}`).reason).toBe('invalid_request');
  });
});

test('agrees with the platform on what is JSON', () => {
  const reasonsForJson: readonly Reason[] = ['ambiguous_json', 'too_deep', 'invalid_request'];
  const text = fc
    .record({ value: awkwardJson, how: spelling, at: fc.nat(), drop: fc.nat(2), insert: fc.string({ maxLength: 2 }) })
    .map(({ value, how, at, drop, insert }) => {
      const whole = around(spell(value, how));
      const place = at % whole.length;
      return { whole, changed: whole.slice(0, place) + insert + whole.slice(place + drop) };
    });
  holds(
    fc.property(text, ({ whole, changed }) => {
      expect(readMessage(Buffer.from(whole), { depth }).kind).toBe('request');
      const bytes = Buffer.from(changed);
      let isJson = true;
      try {
        JSON.parse(bytes.toString());
      } catch {
        isJson = false;
      }
      if (changed.trimStart().startsWith('[')) return;
      try {
        readMessage(bytes, { depth });
        expect(isJson).toBe(true);
      } catch (thrown) {
        if (!(thrown instanceof Failure)) throw thrown;
        expect(reasonsForJson.includes(thrown.reason)).toBe(isJson);
      }
    }),
    2000,
  );
});

test('one message does not affect the next', () => {
  const large = `{${Array.from({ length: 100 }, (_, i) => `"k${i}":{"k${i}":0}`).join(',')}`;
  expect(refusal(around(large)).reason).toBe('parse_error');
  expect(readMessage(Buffer.from(around(`${large}}`)), { depth }).kind).toBe('request');
  expect(readMessage(Buffer.from(around('{"k1":1,"k2":2}')), { depth: 5 }).kind).toBe('request');
});
