/**
 * The text of names in messages. The names of the protocol and of its methods are found in a fixed table, which costs less
 * than a string made anew. Nothing that a peer sends is ever added to it.
 */
import { methods } from './methods.ts';
import { textAt } from './values.ts';
import { vocabulary } from './vocabulary.ts';

/** A power of two, several times the number of words. */
const SLOTS = 1024;

const words = [...vocabulary, ...methods.map(({ method }) => method)];
const longest = Math.max(...words.map((word) => word.length));
/** The word of each slot as a number above 0, and the words' bytes one behind the other: numbers compare faster than text. */
const slots = new Uint16Array(SLOTS);
const starts = new Uint16Array(words.length + 2);
const spelled = Buffer.from(words.join(''));

let at = 0;
for (const [index, word] of words.entries()) {
  starts[index + 1] = at;
  at += word.length;
  const bytes = Buffer.from(word);
  let slot = slotOf(bytes, 0, bytes.byteLength);
  while (slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  slots[slot] = index + 1;
}
starts[words.length + 1] = at;

function slotOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start] as number;
  const middle = bytes[start + (length >> 1)] as number;
  const last = bytes[end - 1] as number;
  return (first + middle * 5 + last * 13 + length * 71) & (SLOTS - 1);
}

/** The word of the protocol between two quotes, which `start` and `end` exclude; undefined where it is another name. */
export function wordAt(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start;
  if (length === 0 || length > longest) return undefined;
  let slot = slotOf(bytes, start, end);
  for (;;) {
    const word = slots[slot] as number;
    if (word === 0) return undefined;
    const from = starts[word] as number;
    if ((starts[word + 1] as number) - from === length) {
      let i = 0;
      while (i < length && spelled[from + i] === bytes[start + i]) i++;
      if (i === length) return words[word - 1];
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
}

/** The decoded text between two quotes; `start` and `end` exclude them. */
export function nameAt(bytes: Uint8Array, start: number, end: number): string {
  return wordAt(bytes, start, end) ?? decodedAt(bytes, start, end);
}

/** The same for a name that is no word of the protocol. A malformed escape can only come from a backend; the name is then what was written. */
export function decodedAt(bytes: Uint8Array, start: number, end: number): string {
  const text = textAt(bytes, { start, end });
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
