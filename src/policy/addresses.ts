/**
 * The readings of an address. A backend may resolve a URI with another parser than ours: WHATWG (`new URL`), RFC 3986, Go's
 * `net/url`, Python's `urllib.parse`. A rule that denies must not be passed by an address that one of them takes for what the
 * rule names, and a rule that allows must hold for all of them.
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
  /** As it is spelled; decoded, once and until nothing is left to decode; with its dots followed. All are the same address. */
  readonly readings: readonly string[];
  /**
   * What a lenient reader may take it for: without fragment, query, parameters and final slash, with a final slash, with the
   * host in ASCII, and, unless its scheme is one of the web, without its authority. For rules that deny alone.
   */
  readonly reductions: readonly string[];
  /** Two parsers read two different addresses: rules that deny apply, rules that allow do not. */
  readonly isAmbiguous: boolean;
}

/** `%25252525` is written by nobody who means well. */
const DECODINGS = 3;

export function readAddress(uri: string): Address {
  if (uri.length > TEXT_LENGTH) return { readings: [uri], reductions: [], isAmbiguous: true };
  const folded = uri.replace(BEGINNING, (beginning) => beginning.toLowerCase());
  const readings = new Set([uri]);
  // As parsers do, before anything is decoded.
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
    // Rules that allow never look at them.
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

/** Parsers find the host before they decode: the slash of `http://a%2fb@host` ends nothing. */
function withDecodedPath(uri: string): string {
  if (!uri.includes('%')) return uri;
  const beginning = BEGINNING.exec(uri)?.[0] ?? '';
  let decoded = uri.slice(beginning.length);
  for (let round = 0; round < DECODINGS; round++) decoded = decodeOnce(decoded);
  return follow(`${beginning}${decoded.replaceAll('\\', '/')}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: parsers strip these, or end at them
const CONTROL = /[\0-\x1f\x7f]/;

/** In a query they are data. */
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
  // Python's `urlparse` and servlet containers take parameters off a segment.
  const named = bare.includes(';') ? bare.replaceAll(/;[^/]*/g, '') : bare;
  const trimmed = `${beginning}${withoutSlash(named)}`;
  into.add(trimmed);
  if (trimmed.length < TEXT_LENGTH) into.add(`${trimmed}/`);
}

/**
 * The forms with the same path, for readers that look at the path alone (`new URL(uri).pathname`, `urlparse(uri).path`), and
 * the one with the same host and path, for readers that join the two. On the web another host or port is another server.
 */
function addOtherAuthorities(uri: string, into: Set<string>): void {
  const [beginning = '', schemes = '', authority = ''] = AUTHORITY.exec(uri) ?? SCHEME.exec(uri) ?? [];
  const scheme = schemes.toLowerCase();
  // Of an address that names a backend, the backend's own address is asked about as well.
  if (scheme === '' || scheme === 'bascule:' || WEB.test(scheme)) return;
  const after = uri.slice(beginning.length);
  const path = after.replace(/^\/+/, '');
  const { host } = hostAndPort(authority);
  const joined = host === '' ? path : `${host}${after}`;
  into.add(`${scheme}///${path}`).add(`${scheme}/${path}`).add(`${scheme}${path}`).add(`${scheme}//${joined}`);
}

const WEB = /(?:^|:)(?:https?|wss?):$/;

/** Internationalised hosts have an ASCII form (RFC 5891), and both name the same host. */
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

/** Also of what stands behind a first scheme: `jar:http:/host` is read by who takes the first one off. */
function isReadInTwoWays(uri: string): boolean {
  let rest = uri.replace(/^bascule:[^/?#]*\//i, '');
  for (let scheme = SCHEME.exec(rest); scheme !== null; scheme = SCHEME.exec(rest)) {
    if (differs(rest, scheme[0].toLowerCase())) return true;
    rest = rest.slice(scheme[0].length);
  }
  return false;
}

/** Whether RFC 3986 and the WHATWG find another host, port or path in it. */
function differs(uri: string, scheme: string): boolean {
  const isSpecial = Object.hasOwn(ports, scheme);
  // A space is no reason: everybody means the same by it.
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
  // Hosts of other schemes are opaque: no parser changes more than their case and their percent signs.
  if (!Object.hasOwn(ports, scheme)) return decodeOnce(host) === decodeOnce(parsedHost).toLowerCase();
  if (scheme === 'file:' && host === 'localhost') return parsedHost === '';
  // Letters have one ASCII form; what is mapped to something else, or to nothing, has two readings.
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
