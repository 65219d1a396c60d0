/**
 * The offending line for an error message. Config files contain secrets, and error messages end up in logs. Shown are
 * keys, punctuation, and the values of harmless settings. Everything else is replaced by stars, including comments: a
 * token in a comment is still a token.
 */
import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { TextSpan } from './parse.ts';
import { type Excerpt, printable } from './problems.ts';

const entry = ['command', 'cwd', 'type', 'transport', 'transportType', 'disabled'];
const who = ['principals', 'issuers', 'scopes', 'groups'];
const on = ['endpoints', 'backends', 'tools', 'prompts', 'asks', 'methods'];

/**
 * Settings whose values help a reader and reveal no secret, by their path. `*` is any name; items have their list's
 * path.
 */
const harmlessKeys: Readonly<Record<string, readonly string[]>> = {
  listen: ['host', 'port', 'allowedOrigins', 'allowedHosts', 'trustedProxies', 'openToNetwork'],
  'backends.*': ['command', 'cwd', 'user', 'share', 'maxProcesses', 'idleMs', 'transport', 'disabled', 'protocol'],
  'backends.*.limits': ['*'],
  'backends.*.profile': ['asks', 'revisions'],
  'mcpServers.*': entry,
  'servers.*': entry,
  endpoints: ['path', 'backends', 'sessions', 'names', 'denials', 'identity', 'protocol'],
  'endpoints.identity': ['accept', 'style', 'audiences'],
  'endpoints.identity.keys': ['header', 'query'],
  'endpoints.profile': ['revisions', 'batches', 'accept', 'elicitation', 'toolNames', 'bodyBytes', 'jsonDepth'],
  identity: ['publicUrl', 'style', 'audiences'],
  'identity.keys': ['file', 'header', 'query'],
  'identity.issuers': ['issuer', 'algorithms', 'clockToleranceMs', 'audienceCheckedByVerifier'],
  'identity.scopes': ['required'],
  'identity.scopes.*': ['*'],
  'identity.authServer': [
    ...['users', 'tokenTtlMs', 'refreshTtlMs', 'registration', 'metadataDocuments', 'allowAddresses'],
  ],
  policy: ['mode', 'open'],
  'policy.rules': ['id', 'effect', 'mode', 'what'],
  'policy.rules.who': who,
  'policy.rules.on': on,
  rates: ['id', 'per', 'what', 'perSecond', 'burst', 'concurrent'],
  'rates.who': who,
  'rates.on': on,
  audit: ['to', 'maxBytes', 'keep', 'onFailure'],
  store: ['dir', 'prefix'],
  limits: ['*'],
  log: ['level', 'format'],
};
const harmless = Object.entries(harmlessKeys).map(([path, keys]) => ({ at: path.split('.'), keys }));

/**
 * The only part of a URL that is shown: paths and queries often contain keys, and a typo can make them part of the
 * host.
 */
const scheme = /^["']?[A-Za-z][A-Za-z0-9+.-]*:\/\//;
const addresses: readonly string[] = ['url', 'serverUrl', 'httpUrl'];
/** With those above, the words that are shown of a file too broken to tell keys from values. */
const otherKeys = ['args', 'env', 'headers', 'seal', 'key', ...addresses];

/** The name of a variable is not secret; its default may be. */
const variableName = /\$\{(?:[A-Za-z_]\w*(?:\}|(?=:)))?/g;
const punctuation = /[\s{}[\],:"'-]/;

/** How much of a long line is shown around the position; a minified file is one line. */
const windowBefore = 60;
const windowAfter = 60;

export function visibleSpans(root: Node | null, text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  const look = (node: unknown, keys: readonly string[]): void => {
    // Items of a list have the path of the list.
    if (isSeq(node)) for (const item of node.items) look(item, keys);
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        // A key without a value may itself be a value: a comma or a colon may be missing.
        if (!isScalar(key) || !key.range || value === null) continue;
        if (!isSecretive(keys)) spans.push({ start: key.range[0], end: key.range[1] });
        look(value, [...keys, String(key.value)]);
      }
    }
    if (!isScalar(node) || !node.range) return;
    const [start, end] = node.range;
    if (isHarmless(keys)) spans.push({ start, end });
    else if (addresses.includes(keys.at(-1) ?? '')) {
      const shown = scheme.exec(text.slice(start, end));
      if (shown !== null) spans.push({ start, end: start + shown[0].length });
    }
  };
  look(root, []);
  return spans;
}

/** Inside `args`, and below the names in `env` and `headers`, an apparent key is really text with a colon. */
function isSecretive(path: readonly string[]): boolean {
  return path.includes('args') || path.slice(0, -1).some((key) => key === 'env' || key === 'headers');
}

function isHarmless(path: readonly string[]): boolean {
  const matches = (pattern: string, key: string | undefined): boolean => pattern === '*' || pattern === key;
  return harmless.some(
    ({ at, keys }) =>
      path.length === at.length + 1 &&
      at.every((pattern, depth) => matches(pattern, path[depth])) &&
      keys.some((pattern) => matches(pattern, path.at(-1))),
  );
}

/** For a file that cannot be parsed: a mistake can make a value look like a key, so only known words are shown. */
export function knownWords(text: string): TextSpan[] {
  const known = [...harmless.flatMap(({ at, keys }) => [...at, ...keys]), ...otherKeys];
  const words = known.filter((word) => word !== '*').join('|');
  const matches = text.matchAll(new RegExp(`(?<![\\w.-])(?:${words})(?=["']?\\s*:)`, 'g'));
  return [...matches].map(({ index, 0: word }) => ({ start: index, end: index + word.length }));
}

export function excerptAt(text: string, place: TextSpan, visible: readonly TextSpan[]): Excerpt {
  const lineStart = place.start === 0 ? 0 : text.lastIndexOf('\n', place.start - 1) + 1;
  const newline = text.indexOf('\n', lineStart);
  const lineEnd = newline === -1 ? text.length : newline;
  const start = Math.max(lineStart, place.start - windowBefore);
  const end = Math.min(lineEnd, Math.max(place.start, start) + windowAfter);
  const shown = new Uint8Array(Math.max(0, end - start));
  for (const span of visible) {
    if (span.end > start && span.start < end) {
      shown.fill(1, Math.max(0, span.start - start), Math.min(shown.length, span.end - start));
    }
  }
  const part = text.slice(start, end).replace(/\r$/, '');
  for (const match of part.matchAll(variableName)) shown.fill(1, match.index, match.index + match[0].length);
  const starred = Array.from({ length: part.length }, (_, at) => {
    const character = part[at]!;
    return shown[at] === 1 || punctuation.test(character) ? character : '*';
  }).join('');
  const before = start > lineStart ? '...' : '';
  const after = end < lineEnd && !text.slice(end, lineEnd).match(/^\r?$/) ? '...' : '';
  const column = place.start - start + 1 + before.length;
  const width = Math.max(1, Math.min(place.end, end) - place.start);
  return { text: before + starred.split('\t').map(printable).join('\t') + after, column, width };
}
