/**
 * Requests to authorization servers: limited in time and size, without redirects, and over plain http only to hosts
 * from the config. The backend names its authorization server, and that server names further URLs. Only hosts from the
 * config may be on this machine or in the internal network, so that a backend cannot reach internal hosts through us.
 */
import { Failure } from '../../errors/failure.ts';
import { isSafeAddress } from '../../identity/documents.ts';
import { OutwardError, type OutwardErrorKind } from '../fetch/errors.ts';
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
  url_forbidden: 'One of its addresses must not be asked from here',
  redirected: 'One of its answers is a redirect',
  too_large: 'One of its answers is too large',
  undecodable: 'One of its answers cannot be decoded',
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
    const controller = new AbortController();
    const stop = this.#outside.time.after(credentialLimits.requestMs, () => controller.abort());
    try {
      const way: TrustedFetch = this.#isOwn(address) ? this.#outside.trusted : this.#outside.outward;
      const response = await way(address, {
        method: init.method,
        headers: init.headers ?? {},
        ...(init.body === undefined ? {} : { body: String(init.body) }),
        redirect: 'manual',
        signal: controller.signal,
      });
      return await complete(response);
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (error instanceof OutwardError && error.kind === 'address_forbidden') throw inside(address);
      const said = error instanceof OutwardError ? guarded[error.kind] : undefined;
      // No cause: it may contain what was sent.
      throw said === undefined ? new Failure('authorization_unavailable') : untrusted(said);
    } finally {
      stop();
      // An unread body would hold its connection.
      controller.abort();
    }
  };

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
async function complete(response: Response): Promise<Response> {
  const text = await readBounded(response);
  const bodiless = response.status === 204 || response.status === 205 || response.status === 304;
  const type = response.headers.get('content-type');
  return new Response(bodiless ? null : text, {
    status: response.status,
    headers: type === null ? {} : { 'content-type': type },
  });
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > credentialLimits.answerBytes) throw untrusted('One of its answers is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The failure for a URL that is refused before any request is sent. */
export function insecure(address: string): Failure {
  const origin = originOf(address);
  const isHere = origin !== undefined && isLoopback(new URL(origin).hostname);
  return untrusted(`${shown(address)} is not https, and must not be asked`, isHere ? NAME_IT : USE_HTTPS);
}

function inside(address: string): Failure {
  return untrusted(`${shown(address)} is on this machine or inside the network, and must not be asked`, NAME_IT);
}

/** As the URL parser spells it: the text comes from the backend and may contain anything. */
function shown(address: string): string {
  return originOf(address)?.slice(0, ORIGIN_CHARS) ?? 'An address that it names';
}

const ORIGIN_CHARS = 300;

const NAME_IT = 'name the origin in the backend’s `auth.authorizationServers`, if you trust it';
const USE_HTTPS = 'let the authorization server have https addresses: http is for this machine alone';

export function untrusted(message: string, cure?: string): Failure {
  return new Failure('authorization_untrusted', { message, ...(cure && { cure }) });
}

export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

function originOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { origin } = new URL(text);
    return origin === 'null' ? undefined : origin;
  } catch {
    return undefined;
  }
}
