/** Random ids of traces and spans. Drawn many at once: asking the system for random bytes is the expensive part. */
import { randomBytes } from 'node:crypto';

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const DRAWN_BYTES = 1_536;

let drawn = '';
let used = 0;

function take(digits: number): string {
  if (used + digits > drawn.length) {
    drawn = randomBytes(DRAWN_BYTES).toString('hex');
    used = 0;
  }
  used += digits;
  return drawn.slice(used - digits, used);
}

export function newTraceId(): string {
  return take(TRACE_DIGITS);
}

export function newSpanId(): string {
  return take(SPAN_DIGITS);
}
