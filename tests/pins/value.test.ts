/** The canonical form of what a backend sends, and its text for people. */
import { describe, expect, it } from 'vitest';
import { readPinValue } from '../../src/pins/read-value.ts';
import { canonicalText, prettyText, Unpinnable } from '../../src/pins/value.ts';
import { spelled } from './setup.ts';

describe('equal values have one canonical text', () => {
  it.each([
    { name: 'white space', text: ' { "a" : [ 1 , 2 ] }\n', canonical: '{"a":[1,2]}' },
    { name: 'the order of members', text: '{"b":1,"a":{"d":1,"c":2}}', canonical: '{"a":{"c":2,"d":1},"b":1}' },
    { name: 'escapes', text: '"\\u0061\\/\\n\\ud83d\\ude00"', canonical: '"a/\\n😀"' },
    { name: 'escapes in names', text: '{"\\u0061":1}', canonical: '{"a":1}' },
    { name: 'half a surrogate pair', text: '"\\ud83d"', canonical: '"\\ud83d"' },
    { name: 'numbers as spelled', text: '[1.0,1e2,-0,9007199254740993]', canonical: '[1.0,1e2,-0,9007199254740993]' },
    { name: 'literals', text: '[true,false,null]', canonical: '[true,false,null]' },
    { name: 'nothing inside', text: '[{},[],""]', canonical: '[{},[],""]' },
    { name: 'names of methods', text: '{"__proto__":1,"constructor":2}', canonical: '{"__proto__":1,"constructor":2}' },
    { name: 'a backslash at the end', text: '["\\\\","\\""]', canonical: '["\\\\","\\""]' },
  ])('$name', ({ text, canonical }) => {
    expect(canonicalText(spelled(text))).toBe(canonical);
    expect(canonicalText(spelled(canonical))).toBe(canonical);
  });
});

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('what two readers could read in two ways is unpinnable', () => {
  it.each([
    { name: 'nothing', text: '', why: 'not JSON' },
    { name: 'a member twice', text: '{"a":1,"a":2}', why: 'twice' },
    { name: 'a member twice, spelled in two ways', text: '{"a":1,"\\u0061":2}', why: 'twice' },
    { name: 'a comma at the end of a list', text: '[1,]', why: 'not JSON' },
    { name: 'a comma at the end of an object', text: '{"a":1,}', why: 'not JSON' },
    { name: 'no comma', text: '[1 2]', why: 'not JSON' },
    { name: 'no end', text: '{"a":[1', why: 'not JSON' },
    { name: 'a text without an end', text: '"a\\"', why: 'not JSON' },
    { name: 'something after the end', text: '{} {}', why: 'not JSON' },
    { name: 'a raw control character', text: '"a\u0001"', why: 'not JSON' },
    { name: 'an unknown escape', text: '"\\x41"', why: 'not JSON' },
    { name: 'a number that begins with zero', text: '01', why: 'not JSON' },
    { name: 'NaN', text: 'NaN', why: 'not JSON' },
    { name: 'a name without quotes', text: '{a:1}', why: 'not JSON' },
    { name: 'too many levels', text: deep(66), why: 'levels' },
    { name: 'too many bytes', text: `"${'a'.repeat(256 * 1024)}"`, why: 'bytes' },
  ])('$name', ({ text, why }) => {
    expect(() => spelled(text)).toThrow(Unpinnable);
    expect(() => spelled(text)).toThrow(why);
  });

  it('bytes that are not UTF-8', () => {
    expect(() => readPinValue(Buffer.from([0x22, 0xff, 0x22]))).toThrow(Unpinnable);
  });
});

it('64 levels can be pinned', () => {
  expect(canonicalText(spelled(deep(64)))).toBe(deep(64));
});

describe('the text for people', () => {
  it('has a line for each member and element', () => {
    expect(prettyText(spelled('{"b":[1,{}],"a":"x"}'))).toBe('{\n  "a": "x",\n  "b": [\n    1,\n    {}\n  ]\n}');
  });

  it.each([
    { name: 'a zero-width space', text: 'a\u200bb', shown: '"a\\u200bb"' },
    { name: 'letters of the tag block', text: 'a\u{e0041}', shown: '"a\\udb40\\udc41"' },
    { name: 'a variation selector', text: 'a\ufe0f\u{e0100}', shown: '"a\\ufe0f\\udb40\\udd00"' },
    { name: 'the other direction', text: '\u202eabc', shown: '"\\u202eabc"' },
    { name: 'a filler', text: '\u3164', shown: '"\\u3164"' },
    { name: 'another space', text: 'a\u00a0b c', shown: '"a\\u00a0b c"' },
    { name: 'a line separator', text: '\u2028', shown: '"\\u2028"' },
    { name: 'a control character of the terminal', text: '\u009b\u007f', shown: '"\\u009b\\u007f"' },
    { name: 'letters of other alphabets', text: 'äж漢😀', shown: '"äж漢😀"' },
  ])('shows $name', ({ text, shown }) => {
    const value = spelled(JSON.stringify({ [text]: text }));
    expect(prettyText(value)).toBe(`{\n  ${shown}: ${shown}\n}`);
    expect(canonicalText(spelled(prettyText(value)))).toBe(canonicalText(value));
  });
});
