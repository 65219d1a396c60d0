/**
 * The possible readings of a URI. A backend may parse a URI differently than we do: WHATWG (`new URL`), RFC 3986, Go's
 * `net/url`, Python's `urllib.parse`. A deny rule must apply if any of them reads a URI that the rule names, and an
 * allow rule must hold for all of them.
 */
import {
  BEGINNING,
  decodeOnce,
  follow,
  hostAndPort,
  pathIn,
  TEXT_LENGTH,
  withoutSlash,
  withPlainAuthority,
} from './paths.ts';

export interface Address {
  /** As spelled; decoded, once and completely; with its dots resolved. All are the same address. */
  readonly readings: readonly string[];
  /**
   * What a lenient reader may take it for: without fragment, query, parameters and final slash, with a final slash,
   * with the host in ASCII, and, unless its scheme is a web scheme, without its authority. Only for deny rules.
   */
  readonly reductions: readonly string[];
  /** Two parsers read two different addresses: deny rules apply, allow rules do not. */
  readonly isAmbiguous: boolean;
}

/** No legitimate client sends `%25252525`. */
const DECODINGS = 3;

export function readAddress(uri: string): Address {
  if (uri.length > TEXT_LENGTH) return { readings: [uri], reductions: [], isAmbiguous: true };
  const folded = uri.replace(BEGINNING, (beginning) => beginning.toLowerCase());
  const readings = new Set([uri]);
  // Before decoding, as parsers do.
  const plain = withPlainAuthority(folded);
  if (plain !== folded) readings.add(plain);
  let decoded = decodeOnce(folded);
  for (let round = 1; round < DECODINGS && decoded !== decodeOnce(decoded); round++) {
    readings.add(decoded);
    decoded = decodeOnce(decoded);
  }
  const isEndless = decoded !== decodeOnce(decoded);
  const followed = follow(withPlainAuthority(decoded.replaceAll('\\', '/')));
  if (followed !== uri) readings.add(decoded).add(followed);
  return {
    readings: [...readings],
    // Computed on demand: allow rules never use them.
    get reductions() {
      return reductionsOf(readings, withDecodedPath(plain));
    },
    isAmbiguous: isEndless || hasControls(decoded) || CONTROL.test(uri) || uri.trim() !== uri || isReadInTwoWays(uri),
  };
}

function reductionsOf(readings: ReadonlySet<string>, decoded: string): readonly string[] {
  const reductions = new Set([decoded]);
  for (const reading of [...readings, decoded]) reduce(reading, reductions);
  for (const one of new Set([...readings, ...reductions])) addOtherAuthorities(one, reductions);
  for (const reading of readings) reductions.delete(reading);
  return [...reductions];
}

/** Parsers find the host before they decode: the slash in `http://a%2fb@host` does not end the authority. */
function withDecodedPath(uri: string): string {
  if (!uri.includes('%')) return uri;
  const beginning = BEGINNING.exec(uri)?.[0] ?? '';
  let decoded = uri.slice(beginning.length);
  for (let round = 0; round < DECODINGS; round++) decoded = decodeOnce(decoded);
  return follow(`${beginning}${decoded.replaceAll('\\', '/')}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: parsers strip these, or end at them
const CONTROL = /[\0-\x1f\x7f]/;

/** In a query, control characters are data. */
function hasControls(decoded: string): boolean {
  if (!CONTROL.test(decoded)) return false;
  const { beginning, path } = pathIn(decoded);
  return CONTROL.test(beginning) || CONTROL.test(path);
}

function reduce(uri: string, into: Set<string>): void {
  const ascii = withAsciiHost(uri);
  if (ascii !== uri) into.add(ascii);
  const hash = uri.indexOf('#');
  if (hash !== -1) into.add(uri.slice(0, hash));
  const { beginning, path } = pathIn(ascii);
  const bare = path.search(/[?#]/) === -1 ? path : path.slice(0, path.search(/[?#]/));
  // Python's `urlparse` and servlet containers remove parameters from a segment.
  const named = bare.includes(';') ? bare.replaceAll(/;[^/]*/g, '') : bare;
  const trimmed = `${beginning}${withoutSlash(named)}`;
  into.add(trimmed);
  if (trimmed.length < TEXT_LENGTH) into.add(`${trimmed}/`);
}

/**
 * Adds the forms with the same path, for readers that use only the path (`new URL(uri).pathname`,
 * `urlparse(uri).path`), and the form with host and path joined. For web schemes a different host or port is a
 * different server.
 */
function addOtherAuthorities(uri: string, into: Set<string>): void {
  const [beginning = '', schemes = '', authority = ''] = AUTHORITY.exec(uri) ?? SCHEME.exec(uri) ?? [];
  const scheme = schemes.toLowerCase();
  // For a URI that names a backend, the backend's own URI is checked as well.
  if (scheme === '' || scheme === 'bascule:' || WEB.test(scheme)) return;
  const after = uri.slice(beginning.length);
  const path = after.replace(/^\/+/, '');
  const { host } = hostAndPort(authority);
  const joined = host === '' ? path : `${host}${after}`;
  into.add(`${scheme}///${path}`).add(`${scheme}/${path}`).add(`${scheme}${path}`).add(`${scheme}//${joined}`);
}

const WEB = /(?:^|:)(?:https?|wss?):$/;

/** An internationalised host has an ASCII form (RFC 5891). Both name the same host. */
export function withAsciiHost(uri: string): string {
  const [whole = '', scheme = '', authority = ''] = AUTHORITY.exec(uri) ?? [];
  if (!NOT_ASCII.test(authority) || authority.includes('\\')) return uri;
  const url = parsed(`http://${authority}`);
  return url === undefined ? uri : `${scheme}//${url.host}${uri.slice(whole.length)}`;
}

const AUTHORITY = /^((?:[a-z][a-z0-9+.-]+:)+)\/\/([^/?#]*)/i;
const NOT_ASCII = /[^\0-\x7f]/;

export const SCHEME = /^([a-z][a-z0-9+.-]+:)/i;
const ports: Readonly<Record<string, string>> = {
  ...{ 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443', 'ftp:': '21', 'file:': '' },
};

/**
 * Also checks the rest after a first scheme: a reader that removes the first one reads `http:/host` in
 * `jar:http:/host`.
 */
function isReadInTwoWays(uri: string): boolean {
  let rest = uri.replace(/^bascule:[^/?#]*\//i, '');
  for (let scheme = SCHEME.exec(rest); scheme !== null; scheme = SCHEME.exec(rest)) {
    if (differs(rest, scheme[0].toLowerCase())) return true;
    rest = rest.slice(scheme[0].length);
  }
  return false;
}

/** Whether RFC 3986 and WHATWG find a different host, port or path. */
function differs(uri: string, scheme: string): boolean {
  const isSpecial = Object.hasOwn(ports, scheme);
  // A space alone is not ambiguous: all parsers treat it the same.
  const url = parsed(isSpecial ? uri : uri.replaceAll(' ', '%20'));
  const after = uri.slice(scheme.length);
  const authority = /^\/\/([^/?#]*)/.exec(after)?.[1];
  if (url === undefined) return true;
  const { host, port } = hostAndPort(authority ?? '');
  if (host.endsWith('.') || !isSameHost(scheme, host, url.hostname)) return true;
  if ((port === ports[scheme] ? '' : port) !== url.port) return true;
  const path = after.slice(authority === undefined ? 0 : authority.length + 2).replace(/[?#].*$/s, '');
  return !isSamePath(isSpecial && path === '' ? '/' : path, url.pathname);
}

function isSameHost(scheme: string, judged: string, parsedHost: string): boolean {
  const host = judged.toLowerCase();
  if (host === parsedHost) return true;
  // Hosts of other schemes are opaque: parsers change only their case and percent-encoding.
  if (!Object.hasOwn(ports, scheme)) return decodeOnce(host) === decodeOnce(parsedHost).toLowerCase();
  if (scheme === 'file:' && host === 'localhost') return parsedHost === '';
  // Letters have one ASCII form. A character that is mapped to something else, or removed, is ambiguous.
  return parsedHost.includes('xn--') && NOT_ASCII.test(host) && !MAPPED.test(host) && host.normalize('NFKC') === host;
}

const MAPPED = /[^\p{L}\p{M}\p{N}.-]|\p{Default_Ignorable_Code_Point}/u;

function isSamePath(judged: string, parsedPath: string): boolean {
  if (judged === parsedPath) return true;
  const segments = judged.split('/');
  const others = parsedPath.split('/');
  return (
    segments.length === others.length &&
    segments.every((segment, at) => decodeOnce(segment) === decodeOnce(others[at] ?? ''))
  );
}

function parsed(uri: string): URL | undefined {
  try {
    return new URL(uri);
  } catch {
    return undefined;
  }
}
