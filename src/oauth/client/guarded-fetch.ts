/**
 * Requests to authorization servers: limited in time and size, without redirects, and over plain http only to hosts
 * from the config. The backend names its authorization server, and that server names further URLs. Only hosts from the
 * config may be on this machine or in the internal network, so that a backend cannot reach internal hosts through us.
 */
import { Failure } from '../../errors/failure.ts';
import { isSafeAddress } from '../../identity/documents.ts';
import { isLoopbackHost } from '../fetch/addresses.ts';
import { fetchWhole } from '../fetch/body.ts';
import { OutwardError, type OutwardErrorKind } from '../fetch/errors.ts';
import { documentIn } from '../well-known.ts';
import { credentialLimits } from './limits.ts';
import type { CredentialPorts, TrustedFetch } from './ports.ts';
import type { BackendAuth } from './settings.ts';

export interface ReachInit {
  readonly method: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Messages for those errors of the outward fetch that are not temporary. */
const guarded: Readonly<Partial<Record<OutwardErrorKind, string>>> = {
  url_forbidden: 'One of its addresses is not one that the gateway may connect to',
  redirected: 'One of its responses is a redirect',
  too_large: 'One of its responses is too large',
  undecodable: 'One of its responses cannot be decoded',
};

/** The URLs in the config of a backend, or of an issuer that people sign in at. */
export interface WrittenDown {
  readonly url: string;
  readonly auth?: Pick<BackendAuth, 'issuer' | 'identityProvider' | 'authorizationServers'>;
}

type GuardedFetchPorts = Pick<CredentialPorts, 'outward' | 'trusted' | 'time'>;

export class GuardedFetch {
  readonly #outside: GuardedFetchPorts;
  readonly #own: ReadonlySet<string>;

  constructor({ url, auth = {} }: WrittenDown, outside: GuardedFetchPorts) {
    this.#outside = outside;
    const named = [url, auth.issuer, auth.identityProvider?.issuer].flatMap((text) => originOf(text) ?? []);
    this.#own = new Set([...named, ...(auth.authorizationServers ?? [])]);
  }

  /** Whether we may send requests or people to this URL. */
  mayBeUsed(address: string): boolean {
    return this.#isOwn(address) || (isSafeAddress(address) && new URL(address).protocol === 'https:');
  }

  /**
   * The body has been read when this resolves. Rejects with a Failure. Has the type of oauth4webapi's `customFetch`.
   */
  readonly fetch = async (address: string, init: ReachInit): Promise<Response> => {
    if (!this.mayBeUsed(address)) throw insecure(address);
    const { time, trusted, outward } = this.#outside;
    const way: TrustedFetch = this.#isOwn(address) ? trusted : outward;
    const sent = {
      method: init.method,
      headers: init.headers ?? {},
      ...(init.body === undefined ? {} : { body: String(init.body) }),
      redirect: 'manual',
    } as const;
    try {
      const limits = { ms: credentialLimits.requestMs, bytes: credentialLimits.answerBytes, time };
      const { response, text } = await fetchWhole((signal) => way(address, { ...sent, signal }), limits);
      return complete(response, text);
    } catch (error) {
      if (error instanceof OutwardError && error.kind === 'address_forbidden') throw inside(address);
      const said = error instanceof OutwardError ? guarded[error.kind] : undefined;
      // No cause: it may contain what was sent.
      throw said === undefined ? new Failure('authorization_unavailable') : untrusted(said);
    }
  };

  /**
   * The first metadata document that exists. A status of 400 to 499 means that there is none at that URL. Any other
   * failure throws, and no further URL is tried: otherwise an attacker who can break one URL could choose the next.
   */
  async firstDocument(addresses: readonly string[]): Promise<Readonly<Record<string, unknown>> | undefined> {
    for (const address of addresses) {
      const response = await this.fetch(address, { method: 'GET', headers: { accept: 'application/json' } });
      if (response.status >= 400 && response.status < 500) continue;
      if (response.status >= 500) throw new Failure('authorization_unavailable');
      if (response.status !== 200)
        throw untrusted(
          'The response to the request for a metadata document is a redirect, or has an unexpected status',
        );
      return documentIn(await response.text(), (why) => untrusted(`One of its metadata documents ${why}`));
    }
    return undefined;
  }

  #isOwn(address: string): boolean {
    const origin = originOf(address);
    if (origin === undefined) return false;
    const { protocol, hostname } = new URL(origin);
    return this.#own.has(origin) || this.#own.has(`${protocol}//${hostname}:*`);
  }
}

/**
 * Keeps only the content type: oauth4webapi would report a challenge instead of the OAuth error beside it (RFC 6749,
 * 5.2).
 */
function complete({ status, headers }: Response, text: string): Response {
  const bodiless = status === 204 || status === 205 || status === 304;
  const type = headers.get('content-type');
  return new Response(bodiless ? null : text, { status, headers: type === null ? {} : { 'content-type': type } });
}

/** The failure for a URL that is refused before any request is sent. */
export function insecure(address: string): Failure {
  const origin = originOf(address);
  const isHere = origin !== undefined && isLoopbackHost(new URL(origin).hostname);
  return untrusted(
    `${shown(address)} does not use https, so the gateway does not connect to it`,
    isHere ? NAME_IT : USE_HTTPS,
  );
}

function inside(address: string): Failure {
  return untrusted(
    `${shown(address)} is on this machine or in the internal network, so the gateway does not connect to it`,
    NAME_IT,
  );
}

/** As the URL parser spells it: the text comes from the backend and may contain anything. */
function shown(address: string): string {
  return originOf(address)?.slice(0, ORIGIN_CHARS) ?? 'An address that it names';
}

const ORIGIN_CHARS = 300;

const NAME_IT = 'if you trust the server, add its origin to the backend’s `auth.authorizationServers`';
const USE_HTTPS = 'use https at the authorization server: http is allowed only on this machine';

export function untrusted(message: string, cure?: string): Failure {
  return new Failure('authorization_untrusted', { message, ...(cure && { cure }) });
}

function originOf(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  return origin === 'null' ? undefined : origin;
}
