/** What an authorization server says, for people to read. */
import { credentialLimits } from './limits.ts';

/**
 * Secrets come back in many spellings, encoded in this or that way. What they have in common is that they are no words: they
 * go on for longer than those of any language.
 */
const noWord = /\S{24,}/g;

/**
 * Undefined where there is nothing to tell: an answer that repeats what was sent in confidence is not passed on at all,
 * since it would stand in errors and logs afterwards.
 */
export function tellable(text: unknown, secrets: readonly string[] = []): string | undefined {
  if (typeof text !== 'string' || secrets.some((secret) => secret !== '' && text.includes(secret))) return undefined;
  // RFC 6749, 5.2: nothing else stands in `error` and `error_description`.
  const clean = text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .replace(noWord, '...')
    .trim();
  return clean === '' ? undefined : clean.slice(0, credentialLimits.wordsChars);
}

/** RFC 6749, 5.2. As a word that programs can compare; what does not look like those that exist is not passed on. */
export function errorCode(code: unknown, secrets: readonly string[] = []): string {
  const known = typeof code === 'string' && code.length <= 40 && /^[a-z]+(?:_[a-z]+)*$/.test(code);
  return known && !secrets.some((secret) => secret !== '' && code.includes(secret)) ? code : 'unknown';
}
