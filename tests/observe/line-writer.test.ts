import { describe, expect, test } from 'vitest';
import { type LineStream, LineWriter } from '../../src/observe/line-writer.ts';

/** A stream whose reader takes what is written when the test says so. */
function heldStream() {
  const written: string[] = [];
  const waiting: ((error?: Error) => void)[] = [];
  const stream: LineStream = {
    write: (bytes, done) => {
      written.push(String(bytes));
      waiting.push(done);
    },
    on: () => undefined,
  };
  const settle = (error?: Error) => waiting.shift()?.(error);
  return { stream, written, settle };
}

function writerOn(stream: LineStream, queueBytes: number) {
  const dropped: number[] = [];
  const writer = new LineWriter({
    stream,
    queueBytes,
    droppedLine: (count) => `${count} dropped\n`,
    onDropped: (count) => dropped.push(count),
  });
  return { writer, dropped };
}

describe('a line writer', () => {
  test('writes the first line immediately, and queued lines together', () => {
    const { stream, written, settle } = heldStream();
    const { writer } = writerOn(stream, 100);
    for (const line of ['a\n', 'b\n', 'c\n']) writer.write(line);
    expect(written).toEqual(['a\n']);
    settle();
    expect(written).toEqual(['a\n', 'b\nc\n']);
  });

  test('drops the lines beyond its bound, and writes their number behind the queued ones', () => {
    const { stream, written, settle } = heldStream();
    const { writer, dropped } = writerOn(stream, 6);
    for (const line of ['a\n', 'b\n', 'c\n', 'd\n', 'e\n']) writer.write(line);
    expect(dropped).toEqual([1, 1]);
    settle();
    expect(written).toEqual(['a\n', 'b\nc\n2 dropped\n']);
    settle();
    writer.write('f\n');
    expect(written.at(-1)).toBe('f\n');
  });

  test('counts lines that a failed write lost, and writes their number with the next line', () => {
    const { stream, written, settle } = heldStream();
    const { writer } = writerOn(stream, 100);
    writer.write('a\n');
    settle(new Error('EPIPE'));
    writer.write('b\n');
    expect(written).toEqual(['a\n', 'b\n1 dropped\n']);
  });

  test('lets gathered lines wait for each other until a line that does not wait, or for a full write', () => {
    const { stream, written, settle } = heldStream();
    const { writer } = writerOn(stream, 100_000);
    const gather = (line: string) => writer.gather((lines) => lines.add(line));
    gather('a\n');
    gather('b\n');
    expect(written).toEqual([]);
    writer.write('c\n');
    expect(written).toEqual(['a\nb\nc\n']);
    gather('d\n');
    settle();
    expect(written).toHaveLength(1);
    const long = `${'x'.repeat(40_000)}\n`;
    gather(long);
    expect(written.slice(1)).toEqual([`d\n${long}`]);
  });

  test('is flushed when the reader took everything, or when the time is over', async () => {
    const { stream, settle } = heldStream();
    const { writer } = writerOn(stream, 100);
    await writer.flush(0);
    writer.write('a\n');
    await writer.flush(0);
    const flushed = writer.flush(60_000);
    settle();
    await flushed;
  });
});
