/** Makes error texts of an authorization server safe to show. */
import { credentialLimits } from './limits.ts';

/** Matches secrets in any encoding: they are longer than the words of any language. */
const noWord = /\S{24,}/g;

/** Undefined if there is no text, or if it repeats a secret of the request: it would end up in errors and logs. */
export function tellable(text: unknown, secrets: readonly string[] = []): string | undefined {
  if (typeof text !== 'string' || secrets.some((secret) => secret !== '' && text.includes(secret))) return undefined;
  // RFC 6749, 5.2: `error` and `error_description` contain no other characters.
  const clean = text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .replace(noWord, '...')
    .trim();
  return clean === '' ? undefined : clean.slice(0, credentialLimits.wordsChars);
}

/** RFC 6749, 5.2. Programs compare this code; anything that does not look like a code becomes `unknown`. */
export function errorCode(code: unknown, secrets: readonly string[] = []): string {
  const known = typeof code === 'string' && code.length <= 40 && /^[a-z]+(?:_[a-z]+)*$/.test(code);
  return known && !secrets.some((secret) => secret !== '' && code.includes(secret)) ? code : 'unknown';
}
