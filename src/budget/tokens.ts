/**
 * How many tokens a model needs for a text, as an estimate. Model providers have different tokenizers, and not all of
 * them are public: a table of one of them (two megabytes) would be exact for its models and an estimate for all others.
 * This one counts pieces as those tokenizers cut them. `bench/search/run.ts` compares it with a public tokenizer.
 */

/** Words, numbers, runs of punctuation, and runs of whitespace. */
const pieces = /[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9\u0080-\u{10FFFF}]+|[\u0080-\u{10FFFF}]|\n+|[ \t]{2,}/gu;
/** A common word is one token, a longer one has several. */
const LETTERS = 8;
const DIGITS = 3;
/** `":{"` and `"},"` are in all vocabularies. */
const MARKS = 4;

export function estimateTokens(text: string): number {
  let count = 0;
  for (const [piece] of text.matchAll(pieces)) {
    const code = piece.charCodeAt(0);
    if (code >= 0x30 && code <= 0x39) count += Math.ceil(piece.length / DIGITS);
    else if ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) count += Math.ceil(piece.length / LETTERS);
    else count += Math.ceil(piece.length / MARKS);
  }
  return count;
}
