/** The elements of an array that lies deeper in a message than the reader looks. */
import type { Span } from './message.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Undefined where there is something else than an array. Spans take in the white space around an element. */
export function elementsAt(bytes: Uint8Array, span: Span): readonly Span[] | undefined {
  if (bytes[span.start] !== OPEN_BRACKET || bytes[span.end - 1] !== CLOSE_BRACKET) return undefined;
  const last = span.end - 1;
  const elements: Span[] = [];
  let depth = 0;
  let start = span.start + 1;
  for (let at = start; at < last; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at, last);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
    else if (byte === COMMA && depth === 0) {
      elements.push({ start, end: at });
      start = at + 1;
    }
  }
  const empty = elements.length === 0 && isWhite(bytes, start, last);
  return empty ? [] : [...elements, { start, end: last }];
}

function endOfString(bytes: Uint8Array, quote: number, last: number): number {
  let at = quote + 1;
  while (at < last && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function isWhite(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}
