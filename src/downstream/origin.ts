/**
 * Where a request goes, and whether its `Origin` and `Host` are allowed. A page of a foreign origin, and a foreign name
 * that points at our loopback address (DNS rebinding), must not reach a server that trusts every local connection.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
 */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import type { IngressNotes } from './events.ts';

export interface OriginRules {
  /** The address that we bind. */
  readonly host: string;
  /** Serialised origins, compared case-insensitively. */
  readonly allowedOrigins: readonly string[];
  /** Host names, with or without a port. */
  readonly allowedHosts: readonly string[];
  /** The host of a proxy in front of us. It is allowed, but does not by itself turn the check of `Host` on. */
  readonly publicHost?: string;
}

const loopbackOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;
const loopbackHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;
const port = /:\d{1,5}$/;

export class Origins {
  readonly #loopback: boolean;
  readonly #origins: ReadonlySet<string>;
  readonly #checksHost: boolean;
  readonly #hosts: ReadonlySet<string>;
  /** The last `Host` that passed, as a cache: nearly all requests carry the same one. */
  #passed: string | undefined;

  constructor(rules: OriginRules) {
    this.#loopback = isLoopbackBind(rules.host);
    this.#origins = new Set(rules.allowedOrigins.map((origin) => origin.toLowerCase()));
    this.#checksHost = this.#loopback || rules.allowedHosts.length > 0;
    const own = [inHeader(rules.host), ...(rules.publicHost === undefined ? [] : [rules.publicHost])];
    this.#hosts = new Set([...rules.allowedHosts, ...own].map((host) => host.toLowerCase()));
  }

  /** Only browser pages must send `Origin`: a request without it passes. */
  checkOrigin(origin: string): Failure | undefined {
    const lower = origin.toLowerCase();
    if (this.#origins.has(lower) || (this.#loopback && loopbackOrigin.test(lower))) return undefined;
    return new Failure('origin_not_allowed');
  }

  /**
   * Other binds than loopback are reached under names that we cannot know, so they are checked only where the config
   * lists the allowed names. Loopback names are always allowed: DNS rebinding cannot use them.
   */
  checkHost(host: string | undefined, notes: Pick<IngressNotes, 'hostRefused'>): Failure | undefined {
    if (host !== undefined && host === this.#passed) return undefined;
    if (!this.#checksHost) return undefined;
    if (host === undefined || !this.#isOurs(host.toLowerCase())) {
      notes.hostRefused(host ?? '');
      return new Failure('host_not_allowed');
    }
    this.#passed = host;
    return undefined;
  }

  #isOurs(host: string): boolean {
    return loopbackHost.test(host) || this.#hosts.has(host) || this.#hosts.has(host.replace(port, ''));
  }
}

export function isLoopbackBind(host: string): boolean {
  return isLoopbackHost(host.toLowerCase());
}

const absolute = /^https?:\/\/([^/?#]*)/i;

interface RequestTarget {
  readonly path: string;
  /** RFC 9112, 3.2.2: a host in the request line overrides the header. */
  readonly host: string | undefined;
}

export function targetOf(url: string, host: string | undefined): RequestTarget {
  const isPath = url.charCodeAt(0) === SLASH;
  const authority = isPath ? null : absolute.exec(url);
  if (!isPath && authority === null) return { path: url, host };
  const path = authority === null ? url : url.slice(authority[0].length) || '/';
  const query = path.indexOf('?');
  return { path: query === -1 ? path : path.slice(0, query), host: authority === null ? host : authority[1] };
}

const SLASH = 0x2f;

/**
 * RFC 9112, 3.2: HTTP/1.1 without a Host, or with two, is malformed, even if every name is allowed. With two, two
 * readers could each use a different one; Node's parser silently keeps the first.
 */
export function malformedHost(
  { rawHeaders, httpVersion }: IncomingMessage,
  host: string | undefined,
): string | undefined {
  let found = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (found) return 'The Host header is repeated';
    found = true;
  }
  return host === undefined && httpVersion === '1.1' ? 'The Host header is required' : undefined;
}

/** An address as it is spelled in `Host`. */
function inHeader(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
