/**
 * What a request at the proxy is for. It is accepted in one spelling only: what two readers could take for two
 * addresses is refused with a Failure that is thrown. Node's parser leaves all of this alone.
 */
import { Failure } from '../errors/failure.ts';
import { authorityOf } from './hosts.ts';

export interface WantedTarget {
  /** Lower case, with its port. */
  readonly authority: string;
  /** With the query. */
  readonly path: string;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/** RFC 9112, 3.2.2: `http://host/path`. */
export function absoluteTarget(url: string, host: string | undefined): WantedTarget {
  const [, scheme = '', written = '', path = '/'] = /^([a-z]+):\/\/([^/?#]*)([/?#].*)?$/is.exec(url) ?? [];
  if (scheme === '') throw invalid('This port is a proxy: it expects an absolute http:// address, or CONNECT');
  if (scheme.toLowerCase() !== 'http') throw invalid('Use CONNECT for addresses that are not http://');
  if (written.includes('@')) throw invalid('The address has a user name');
  const authority = canonicalAuthority(written, HTTP_PORT);
  if (authority === undefined) throw invalid('The host of the address is not valid');
  return checked({ authority, path }, host, HTTP_PORT);
}

/** Of a request inside a tunnel to `authority`: the path alone. */
export function innerTarget(
  url: string,
  host: string | undefined,
  { authority, isTls }: { readonly authority: string; readonly isTls: boolean },
): WantedTarget {
  if (!url.startsWith('/')) throw invalid('A request inside a tunnel names a path alone');
  return checked({ authority, path: url }, host, isTls ? HTTPS_PORT : HTTP_PORT);
}

/** RFC 9110, 9.3.6: host and port. */
export function connectTarget(url: string, host: string | undefined): string {
  const authority = canonicalAuthority(url);
  if (authority === undefined) throw invalid('The target of CONNECT is a host with a port, such as search.example:443');
  // Some clients omit the port in `Host`.
  const port = Number(authority.slice(authority.lastIndexOf(':') + 1));
  if (canonicalAuthority(host ?? '', port) !== authority) throw invalid(OTHER_HOST);
  return authority;
}

const OTHER_HOST = 'The Host header differs from the target';

function checked(target: WantedTarget, host: string | undefined, port: number): WantedTarget {
  const { authority, path } = target;
  if (canonicalAuthority(host ?? '', port) !== authority) throw invalid(OTHER_HOST);
  const text = `http://${authority}${path}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Dot segments, also encoded ones, backslashes and fragments are changed by parsing.
  if (url === undefined || `${url.pathname}${url.search}` !== path) throw invalid('The path is not in canonical form');
  return target;
}

/** Undefined where a URL would spell the host in another way, or there is no port. */
function canonicalAuthority(written: string, port?: number): string | undefined {
  const [, name = '', digits = port?.toString()] =
    /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9]\d{0,4}))?$/i.exec(written) ?? [];
  const lower = name.toLowerCase();
  const text = `http://${lower}:${digits}/`;
  if (name === '' || digits === undefined || !URL.canParse(text)) return undefined;
  const authority = authorityOf(new URL(text));
  return authority === `${lower}:${digits}` ? authority : undefined;
}

function invalid(message: string): Failure {
  return new Failure('proxy_target_invalid', { message });
}
