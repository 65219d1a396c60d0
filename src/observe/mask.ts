/**
 * Masks likely secrets in text that we did not write, such as the last lines of a process before it ended. A heuristic:
 * it knows common spellings of credentials, and no secret that looks like a word.
 */
const shapes: readonly { readonly find: RegExp; readonly by: string }[] = [
  // Credentials in a URL, and in its query.
  { find: /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, by: '$1***@' },
  { find: /([?&][^=&\s]*(?:key|token|secret|password|code|sig)[^=&\s]*=)[^&\s]+/gi, by: '$1***' },
  { find: /\b(bearer|basic)\s+[\w.~+/=-]+/gi, by: '$1 ***' },
  // `API_KEY=...`, `"password": "..."`, `token: ...`
  {
    find: /((?:key|token|secret|passw(?:or)?d|authorization|credential)[\w-]*["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s,;}]+)/gi,
    by: '$1***',
  },
  // Prefixes of vendors' keys, JSON Web Tokens, and long runs that are not words.
  { find: /\b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat|AKIA)[-_]?[\w-]{12,}/g, by: '***' },
  { find: /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, by: '***' },
  { find: /\b(?=[\w+/-]*\d)(?=[\w+/-]*[A-Za-z])[\w+-]{32,}={0,2}/g, by: '***' },
];

export function masked(text: string): string {
  return shapes.reduce((shown, { find, by }) => shown.replace(find, by), text);
}
