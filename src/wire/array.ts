/** The elements of an array that is deeper in a message than the outline goes. */
import { Failure } from '../errors/failure.ts';
import type { Span } from './message.ts';
import { skipWhite } from './outline.ts';
import { passOver } from './skim.ts';

/** Undefined if the value is not an array. */
export function elementsAt(bytes: Uint8Array, span: Span): readonly Span[] | undefined {
  if (bytes[span.start] !== 0x5b /* [ */) return undefined;
  const elements: Span[] = [];
  let at = skipWhite(bytes, span.start + 1, span.end);
  while (at < span.end && bytes[at] !== 0x5d /* ] */) {
    const end = passOver(bytes, at, 'backend_invalid');
    elements.push({ start: at, end });
    at = skipWhite(bytes, end, span.end);
    if (bytes[at] === 0x2c /* , */) at = skipWhite(bytes, at + 1, span.end);
    else if (bytes[at] !== 0x5d) throw new Failure('backend_invalid');
  }
  return elements;
}
