/**
 * Paths and URIs that say where they lead, and those that leave it to whoever reads them. Of the latter no pattern can say
 * whether they are inside: `/public/../secrets/x` begins like one thing and is another.
 */

/** Longer than any path of a file system. With the longest pattern: a million steps, a few milliseconds. */
export const TEXT_LENGTH = 4_096;

/**
 * Of two letters at least: one is a drive. One in front of another (`jdbc:mysql:`) is part of it, and so is the name of a
 * backend, which stands before the address that the backend has (`catalog/uris.ts`).
 */
const BEGINNING = /^(?:bascule:[^/?#]*\/)?(?:(?:[A-Za-z][A-Za-z0-9+.-]+:)+(?:\/\/[^/?#]*)?)?/i;

/** `.` and `..` as segments, percent-encoded too. A backslash is a slash to some, and a parameter is none of the name. */
const DOTS = /(?:(?:[/\\]|%2f|%5c)(?:\.|%2e){1,2}|^(?:\.|%2e){2})(?:$|[/\\?#;]|%2f|%5c)/i;
/** An empty segment, which file systems pass over and other readers do not. */
const EMPTY = /\/[/\\]|\\\//;

let last = { text: '', plain: true };

/** The last answer is kept: one text is held against the patterns of many rules. */
export function isPlainPath(text: string): boolean {
  if (text.length > TEXT_LENGTH) return false;
  if (text !== last.text) last = { text, plain: !hasDots(text) && !hasEmpty(text) };
  return last.plain;
}

function hasDots(text: string): boolean {
  const perhaps = text.includes('/.') || text.includes('\\.') || text.startsWith('..') || text.includes('%');
  return perhaps && DOTS.test(text);
}

function hasEmpty(text: string): boolean {
  if (!text.includes('//') && !text.includes('\\')) return false;
  return EMPTY.test(pathIn(text).path);
}

/** The query of a URI may hold another URI; a plain path has no query, and all of it counts. */
function pathIn(text: string): { readonly beginning: string; readonly path: string; readonly rest: string } {
  const beginning = BEGINNING.exec(text)?.[0] ?? '';
  const after = text.slice(beginning.length);
  const end = beginning === '' ? -1 : after.search(/[?#]/);
  return end === -1
    ? { beginning, path: after, rest: '' }
    : { beginning, path: after.slice(0, end), rest: after.slice(end) };
}

/** `./a` is `a`, in patterns as in what is held against them. */
export function withoutDot(text: string): string {
  if (!text.startsWith('./')) return text;
  const bare = text.replace(/^(?:\.\/+)+/, '');
  return bare === '' ? text : bare;
}

/**
 * A URI as it is spelled, as those understand it who fold the case of scheme and host and decode percent signs, and as
 * those do who also follow its dots (RFC 3986, 6.2.2 and 6.2.3). Rules that allow must hold for all, rules that deny for one.
 */
export function readingsOf(uri: string): readonly string[] {
  const folded = uri.replace(BEGINNING, (beginning) => beginning.toLowerCase());
  const decoded = folded.includes('%') ? decode(folded) : folded;
  const followed = follow(withPlainAuthority(decoded.replaceAll('\\', '/')));
  if (followed === uri) return [uri];
  return [...new Set([uri, decoded, followed])];
}

const ports: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' };

/** Without what changes nothing about where it leads: who asks, the port that is meant anyway, this very machine (RFC 8089, 2). */
export function withPlainAuthority(uri: string): string {
  if (/^file:\/(?!\/)/.test(uri)) return uri.replace('file:/', 'file:///');
  return uri.replace(/^([a-z][a-z0-9+.-]+:)\/\/([^/?#]*)/, (_, scheme: string, authority: string) => {
    const [host = '', port = ''] = authority.slice(authority.lastIndexOf('@') + 1).split(/:(?=\d*$)/);
    const at = port === '' || port === ports[scheme] ? host : `${host}:${port}`;
    return `${scheme}//${scheme === 'file:' && at === 'localhost' ? '' : at}`;
  });
}

/** RFC 3986, 5.2.4; and empty segments are none. */
function follow(uri: string): string {
  if (isPlainPath(uri) || uri.length > TEXT_LENGTH) return uri;
  const { beginning, path, rest } = pathIn(uri);
  const steps: string[] = [];
  const segments = path.split('/');
  for (const segment of segments) {
    if (segment === '..') steps.pop();
    else if (segment !== '.' && segment !== '') steps.push(segment);
  }
  const isFolder = steps.length > 0 && ['', '.', '..'].includes(segments.at(-1) ?? '');
  return `${beginning}${path.startsWith('/') ? '/' : ''}${steps.join('/')}${isFolder ? '/' : ''}${rest}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No UTF-8: at least what is plain ASCII.
    return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  }
}
