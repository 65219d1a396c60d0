/**
 * One message a line, in and out.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
import type { Writable } from 'node:stream';
import type { Send } from './message.ts';

/** The size of the largest body that the gateway takes by default; a longer line can only be a mistake. */
const maxLineBytes = 4 * 1024 * 1024;

/** Four of the largest messages. Who leaves more than that unread has stopped reading, and is cut off. */
const maxUnreadBytes = 4 * maxLineBytes;

export type Line = { readonly value: unknown } | { readonly unreadable: string };

const newline = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(line: Buffer): Line | undefined {
  try {
    const text = utf8.decode(line);
    return text.trim() === '' ? undefined : { value: JSON.parse(text) };
  } catch {
    return { unreadable: 'Not a line of JSON in UTF-8' };
  }
}

/** What follows the last newline when the input ends is a message that was cut off, and is dropped. */
export async function* lines(input: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      size += part.length;
      // Of a line that is too long, only its length is remembered.
      if (size <= maxLineBytes) parts.push(part);
      else parts = [];
      if (end === -1) break;
      const line =
        size <= maxLineBytes ? parse(Buffer.concat(parts)) : { unreadable: `A line has at most ${maxLineBytes} bytes` };
      if (line !== undefined) yield line;
      parts = [];
      size = 0;
      start = end + 1;
    }
  }
}

export function lineWriter(output: Writable): Send {
  return (message) => {
    if (output.destroyed) return;
    output.write(`${JSON.stringify(message)}\n`);
    if (output.writableLength > maxUnreadBytes) output.destroy();
  };
}
