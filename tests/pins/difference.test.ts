/** What a reviewer is shown, and that what was approved can be read again. */
import { describe, expect, it } from 'vitest';
import { digest } from '../../src/app/digest.ts';
import { changedLines } from '../../src/pins/changed-lines.ts';
import { approved, differencesOf } from '../../src/pins/difference.ts';
import { PinFileError, readPinFile, writePinFile } from '../../src/pins/file.ts';
import type { Pin } from '../../src/pins/pin.ts';
import { prettyText } from '../../src/pins/value.ts';
import { parsed, pinnedTool, tool } from './setup.ts';

const shown = (before: unknown, after: unknown) => changedLines(prettyText(parsed(before)), prettyText(parsed(after)));

describe('the lines that changed', () => {
  it('two texts that changed places are shown, each with where it is', () => {
    const properties = (from: string, to: string) => ({ from: { description: from }, to: { description: to } });
    expect(shown(properties('read', 'written'), properties('written', 'read'))).toEqual([
      '  {',
      '    "from": {',
      '-     "description": "read"',
      '+     "description": "written"',
      '    "to": {',
      '-     "description": "written"',
      '+     "description": "read"',
    ]);
  });

  it('an element that is there once more is shown', () => {
    expect(shown(['a', 'b'], ['a', 'b', 'a'])).toEqual(['  [', '+   "a"']);
  });

  it('an element that moved is shown', () => {
    expect(shown(['a', 'b', 'c'], ['b', 'c', 'a'])).toEqual(['  [', '-   "a"', '+   "a"']);
  });

  it('a comma that comes with the next line is no change', () => {
    expect(shown({ a: 1 }, { a: 1, b: 2 })).toEqual(['  {', '+   "b": 2']);
  });

  it('an invisible letter is shown', () => {
    expect(shown('ab', 'a\u200bb')).toEqual(['- "ab"', '+ "a\\u200bb"']);
  });

  it('in texts that are too long to be aligned, every line between the first and the last change is shown', () => {
    const lines = (prefix: string) => Array.from({ length: 5_000 }, (_, at) => `${prefix}${at}`);
    const changes = shown(['same', ...lines('a'), 'end'], ['same', ...lines('b'), 'end']);
    expect(changes).toHaveLength(10_001);
    expect(changes).not.toContain('-   "same"');
  });
});

describe('what approve writes can be read again', () => {
  const files = new Set(['files']);
  const offer = (pin: Pin) => ({ ...tool(pin.name), pin });
  const afterApproval = (...pins: Pin[]) =>
    readPinFile(writePinFile(approved([], differencesOf([], pins.map(offer), files), false), digest), digest);

  it('a deep entry whose text is many times as long', () => {
    const elements = Array(5_000).fill('1').join();
    const deep = pinnedTool('t', `{"name":"t","x":${'['.repeat(60)}${elements}${']'.repeat(60)}}`);
    expect(afterApproval(deep)).toEqual([deep]);
  });

  it('an entry as large as an entry can be', () => {
    const large = pinnedTool('t', `{"name":"t","x":"${'\u200b'.repeat(87_000)}"}`);
    expect(afterApproval(large)).toEqual([large]);
  });

  it('a tool that is listed twice is one difference, and one pin', () => {
    const pin = pinnedTool('t', '{"name":"t"}');
    expect(differencesOf([], [offer(pin), offer(pin)], files)).toHaveLength(1);
    expect(afterApproval(pin, pin)).toEqual([pin]);
  });

  it('two forms of one tool are two pins', () => {
    const forms = [pinnedTool('t', '{"name":"t"}'), pinnedTool('t', '{"name":"t","title":"T"}')];
    expect(afterApproval(...forms)).toHaveLength(2);
  });

  it('names with quotes, breaks and invisible letters', () => {
    const pins = ['a"b', 'a\nb', 'a\u200bb', '\u2028', '\ud800', '\\'].map((name) => pinnedTool(name, '{}'));
    expect(new Set(afterApproval(...pins).map(({ name }) => name))).toEqual(new Set(pins.map(({ name }) => name)));
  });

  it('pins that could not be read again are not written', () => {
    const pin = pinnedTool('t', '{"name":"t"}');
    expect(() => writePinFile([pin, pin], digest)).toThrow(PinFileError);
    expect(() => writePinFile([{ ...pin, hash: `sha256:${'0'.repeat(64)}` }], digest)).toThrow('hash');
    expect(() => writePinFile([{ ...pin, backend: 'two words' }], digest)).toThrow('is not a pin');
  });

  it('a file that would be too large is not written', () => {
    const elements = Array(120_000).fill('1').join();
    const pins = ['a', 'b', 'c'].map((name) => pinnedTool(name, `${'['.repeat(62)}${elements}${']'.repeat(62)}`));
    expect(() => writePinFile(pins, digest)).toThrow('characters');
  });
});
