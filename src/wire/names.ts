/**
 * Decodes names in messages. The protocol's member names and methods are looked up in a fixed table, which is cheaper
 * than creating a string. Nothing that a peer sends is ever added to the table.
 */
import { methods } from './methods.ts';
import { textAt } from './values.ts';
import { vocabulary } from './vocabulary.ts';

/** A power of two, several times the number of words. */
const SLOTS = 1024;

const words = [...vocabulary, ...methods.map(({ method }) => method)];
const longest = Math.max(...words.map((word) => word.length));
/** By slot: the word, its length (0 if empty), and where its bytes begin. Comparing numbers is faster than text. */
const kept: string[] = new Array<string>(SLOTS).fill('');
const lengths = new Uint8Array(SLOTS);
const starts = new Uint16Array(SLOTS);
const spelled = new Uint8Array(Buffer.from(words.join('')));

let filled = 0;
for (const word of words) {
  const bytes = Buffer.from(word);
  let slot = slotOf(bytes, 0, bytes.byteLength);
  while (lengths[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  kept[slot] = word;
  lengths[slot] = word.length;
  starts[slot] = filled;
  filled += word.length;
}

function slotOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start] as number;
  const middle = bytes[start + (length >> 1)] as number;
  const last = bytes[end - 1] as number;
  return (first + middle * 5 + last * 13 + length * 71) & (SLOTS - 1);
}

/**
 * The protocol's word between two quotes, which `start` and `end` exclude; undefined if the name is not such a word.
 */
export function wordAt(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start;
  if (length === 0 || length > longest) return undefined;
  let slot = slotOf(bytes, start, end);
  for (;;) {
    const known = lengths[slot] as number;
    if (known === 0) return undefined;
    if (known === length) {
      const offset = (starts[slot] as number) - start;
      let i = start;
      while (i < end && spelled[offset + i] === bytes[i]) i++;
      if (i === end) return kept[slot];
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
}

/** The decoded text between two quotes; `start` and `end` exclude them. */
export function nameAt(bytes: Uint8Array, start: number, end: number): string {
  return wordAt(bytes, start, end) ?? decodedAt(bytes, start, end);
}

/**
 * The same for a name that is not in the table. Only a backend can send a malformed escape; the name then stays
 * undecoded.
 */
export function decodedAt(bytes: Uint8Array, start: number, end: number): string {
  const text = textAt(bytes, { start, end });
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** The decoded name that begins at `start`, after its opening quote. */
export function nameFrom(bytes: Uint8Array, start: number): string {
  let end = start;
  while (end < bytes.byteLength && bytes[end] !== 0x22 /* " */) end += bytes[end] === 0x5c /* \ */ ? 2 : 1;
  return decodedAt(bytes, start, end);
}
