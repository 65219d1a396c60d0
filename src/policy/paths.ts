/**
 * Distinguishes plain paths and URIs from those whose target depends on the reader. No pattern can judge the latter:
 * `/public/../secrets/x` begins like one path and is another.
 */

/** Longer than any path of a file system. With the longest pattern: a million steps, a few milliseconds. */
export const TEXT_LENGTH = 4_096;

/**
 * A scheme has at least two letters: one letter is a drive. A scheme before another (`jdbc:mysql:`) is part of it, and
 * so is the name of a backend before the backend's own URI (`catalog/uris.ts`).
 */
export const BEGINNING = /^(?:bascule:[^/?#]*\/)?(?:(?:[A-Za-z][A-Za-z0-9+.-]+:)+(?:\/\/[^/?#]*)?)?/i;

/**
 * `.` and `..` as segments, also percent-encoded, any number of times. Some readers treat a backslash as a slash, a
 * parameter is not part of the name, and a control character or a space ends a name or is stripped.
 */
const DOTS = new RegExp(
  [
    '(?:(?:[/\\\\]|%(?:25)*(?:2f|5c))(?:\\.|%(?:25)*2e){1,2}|^(?:\\.|%(?:25)*2e){2})',
    '(?:$|[/\\\\?#;\\0-\\x20\\x7f]|%(?:25)*(?:2f|5c|3[bf]|23|[01][0-9a-f]|20|7f))',
  ].join(''),
  'i',
);
/** An empty segment, which file systems ignore and other readers do not. */
const EMPTY = /\/[/\\]|\\\//;

let last = { text: '', plain: true };

/** The last answer is cached: one text is compared with the patterns of many rules. */
export function isPlainPath(text: string): boolean {
  if (text.length > TEXT_LENGTH) return false;
  if (text !== last.text) last = { text, plain: !hasDots(text) && !hasEmpty(text) };
  return last.plain;
}

function hasDots(text: string): boolean {
  // A C program stops reading there.
  if (text.includes('\0') || text.includes('%00')) return true;
  const perhaps = text.includes('/.') || text.includes('\\.') || text.startsWith('..') || text.includes('%');
  return perhaps && DOTS.test(text);
}

function hasEmpty(text: string): boolean {
  if (!text.includes('//') && !text.includes('\\')) return false;
  return EMPTY.test(pathIn(text).path);
}

/** Splits off the query, which may contain another URI. A plain path has no query: all of it is the path. */
export function pathIn(text: string): { readonly beginning: string; readonly path: string; readonly rest: string } {
  const beginning = BEGINNING.exec(text)?.[0] ?? '';
  const after = text.slice(beginning.length);
  const end = beginning === '' ? -1 : after.search(/[?#]/);
  return end === -1
    ? { beginning, path: after, rest: '' }
    : { beginning, path: after.slice(0, end), rest: after.slice(end) };
}

/** `./a` equals `a`, in patterns and in texts. */
export function withoutDot(text: string): string {
  if (!text.startsWith('./')) return text;
  const bare = text.replace(/^(?:\.\/+)+/, '');
  return bare === '' ? text : bare;
}

const ports: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' };

/**
 * Removes parts that do not change the target: the user, the default port, and `localhost` in `file:` (RFC 8089, 2).
 */
export function withPlainAuthority(uri: string): string {
  if (/^file:\/(?!\/)/.test(uri)) return uri.replace('file:/', 'file:///');
  return uri.replace(/^([a-z][a-z0-9+.-]+:)\/\/([^/?#]*)/, (_, scheme: string, authority: string) => {
    const { host, port } = hostAndPort(authority);
    const at = port === '' || port === ports[scheme] ? host : `${host}:${port}`;
    return `${scheme}//${scheme === 'file:' && at === 'localhost' ? '' : at}`;
  });
}

/** Without the user. */
export function hostAndPort(authority: string): { readonly host: string; readonly port: string } {
  const [host = '', port = ''] = authority.slice(authority.lastIndexOf('@') + 1).split(/:(?=\d*$)/);
  return { host, port };
}

/** A path to a folder may or may not end in a slash. */
export function withAndWithoutSlash(path: string): readonly string[] {
  const bare = withoutSlash(path);
  return bare.length < TEXT_LENGTH ? [path, bare, `${bare}/`] : [path, bare];
}

/** Not a regular expression: one anchored at the end is tried at every slash. */
export function withoutSlash(path: string): string {
  let end = path.length;
  while (end > 0 && (path[end - 1] === '/' || path[end - 1] === '\\')) end -= 1;
  return end === path.length ? path : path.slice(0, end);
}

/** RFC 3986, 5.2.4; empty segments are removed too. */
export function follow(uri: string): string {
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

/** Decodes one level of percent-encoding. */
export function decodeOnce(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // Not UTF-8: decode at least plain ASCII.
    return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  }
}
