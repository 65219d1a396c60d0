/**
 * The offending line for an error message. Config files hold secrets, and error messages end up in logs: shown are keys,
 * punctuation, and the values of settings that are known to be harmless. All else is starred out, comments included,
 * since a token that was commented out is still a token.
 */
import { isMap, isScalar, isSeq, type Node, visit } from 'yaml';
import type { Span } from './parse.ts';
import { type Excerpt, printable } from './problems.ts';

/** Nothing inside these is shown but the names, whatever the names are. */
const secretive: ReadonlySet<string> = new Set(['args', 'env', 'headers']);
/** Settings whose values help a reader and give nothing away. */
const harmless: ReadonlySet<string> = new Set([
  ...['host', 'port', 'allowedOrigins', 'allowedHosts', 'openToNetwork', 'level'],
  ...['command', 'cwd', 'share', 'maxProcesses', 'idleMs', 'disabled', 'type', 'transport', 'transportType'],
  ...['path', 'backends', 'revisions', 'batches', 'accept', 'sessions', 'limits'],
]);
/** With these, the words that are recognised in a file too broken to tell keys from values. */
const structure = ['mcpServers', 'servers', 'listen', 'endpoints', 'profile', 'log', 'seal'];
const addresses: ReadonlySet<string> = new Set(['url', 'serverUrl', 'httpUrl']);

/** Scheme and host of an address without user information. Paths and queries carry keys often enough. */
const origin = /^["']?[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@\s"']*(?![^/?#\s"']*@)/;
const variableName = /\$\{[^}:"'\s]*\}?/g;
const punctuation = /[\s{}[\],:"'-]/;

/** A minified file is one line; this much of it is shown around the place. */
const windowBefore = 60;
const windowAfter = 60;

export function visibleSpans(root: Node | null, text: string): Span[] {
  const spans: Span[] = [];
  const show = (start: number, end: number): void => {
    spans.push({ start, end });
  };
  if (root === null) return spans;
  visit(root, {
    Pair(_, pair) {
      const { key, value } = pair;
      if (!isScalar(key) || !key.range || value === null) return undefined;
      show(key.range[0], key.range[1]);
      const name = String(key.value);
      if (secretive.has(name)) {
        for (const inner of isMap(value) ? value.items : [])
          for (const it of scalarsOf(inner.key)) show(it.start, it.end);
        return visit.SKIP;
      }
      for (const scalar of scalarsOf(value)) {
        if (harmless.has(name)) show(scalar.start, scalar.end);
        else if (addresses.has(name)) {
          const match = origin.exec(text.slice(scalar.start, scalar.end));
          if (match !== null) show(scalar.start, scalar.start + match[0].length);
        }
      }
      // The whole table of limits is numbers, under keys of its own.
      if (name === 'limits' && isMap(value)) {
        for (const item of value.items) for (const scalar of scalarsOf(item.value)) show(scalar.start, scalar.end);
      }
      return undefined;
    },
  });
  return spans;
}

/** For a file that can't be parsed: a mistake can make a value look like a key, so only known words are shown. */
export function knownWords(text: string): Span[] {
  const words = [...harmless, ...secretive, ...addresses, ...structure].join('|');
  const matches = text.matchAll(new RegExp(`(?<![\\w.-])(?:${words})(?=["']?\\s*:)`, 'g'));
  return [...matches].map(({ index, 0: word }) => ({ start: index, end: index + word.length }));
}

function scalarsOf(node: unknown): Span[] {
  if (isSeq(node)) return node.items.flatMap(scalarsOf);
  return isScalar(node) && node.range ? [{ start: node.range[0], end: node.range[1] }] : [];
}

export function excerptAt(text: string, place: Span, visible: readonly Span[]): Excerpt {
  const lineStart = text.lastIndexOf('\n', place.start - 1) + 1;
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
