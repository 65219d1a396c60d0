/** What an authorization server says, for people to read. */
import { credentialLimits } from './limits.ts';

/**
 * Undefined where there is nothing to tell: an answer that repeats what was sent in confidence is not passed on at all,
 * since it would stand in errors and logs afterwards.
 */
export function tellable(text: unknown, secrets: readonly string[] = []): string | undefined {
  if (typeof text !== 'string' || secrets.some((secret) => secret !== '' && text.includes(secret))) return undefined;
  // RFC 6749, 5.2: nothing else stands in `error` and `error_description`.
  const clean = text.replace(/[^\x20-\x7e]+/g, ' ').trim();
  return clean === '' ? undefined : clean.slice(0, credentialLimits.wordsChars);
}

/** RFC 6749, 5.2. As a word that programs can compare; what does not look like one is not passed on. */
export function errorCode(code: unknown): string | undefined {
  return typeof code === 'string' && /^[a-zA-Z0-9_.:/-]{1,80}$/.test(code) ? code : undefined;
}
