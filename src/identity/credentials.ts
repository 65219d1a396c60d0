/**
 * Finds the credentials in a request and checks their form, nothing else. A token is accepted only in `Authorization`.
 * Of the query string, only the key parameter that the endpoint allows is read.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-requirements
 */
import { hash } from 'node:crypto';
import { Failure } from '../errors/failure.ts';
import type { PresentedCredentials } from './principal.ts';
import type { GuardedSettings } from './settings.ts';

/** The parts of a request that can hold credentials. Node's `IncomingMessage` fits. */
export type Carrier = Pick<PresentedCredentials, 'rawHeaders' | 'method' | 'url' | 'socket'>;

/** Where a key may be, besides `Authorization`. */
export type KeyPlaces = Pick<GuardedSettings, 'keyHeader' | 'keyQuery'>;

export type Credential = { readonly kind: 'none' } | BearerCredential | { readonly kind: 'key'; readonly text: string };

/** A token or a key. */
export class BearerCredential {
  readonly kind = 'bearer';
  readonly text: string;
  /** The whole header: the same header on the same connection is the same credential. */
  readonly header: string;
  #digest: string | undefined;

  constructor(text: string, header: string) {
    this.text = text;
    this.header = header;
  }

  get digest(): string {
    this.#digest ??= digestOf(this.text);
    return this.#digest;
  }
}

/** What a secret is looked up by: the time that a lookup takes says nothing about secrets that are nearly right. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64');
}

const absent: Credential = { kind: 'none' };

/** RFC 6750, 2.1: `b64token`. The scheme is compared case-insensitively (RFC 9110, 11.1). */
const bearer = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const bearerScheme = /^bearer(?: |$)/i;
const AUTHORIZATION = 'authorization';

/** `last` is the credential that the connection presented before; it is returned if it is presented again. */
export function findCredential(
  carrier: Carrier,
  { keyHeader, keyQuery }: KeyPlaces,
  last?: BearerCredential,
): Credential | Failure {
  const { rawHeaders } = carrier;
  let authorization: string | undefined;
  let key: string | undefined;
  let places = 0;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (isNamed(name, AUTHORIZATION)) {
      if (authorization !== undefined) return ambiguous('The Authorization header is repeated');
      authorization = rawHeaders[at + 1]!;
      // Another scheme is for another recipient, usually a proxy on the way.
      if (authorization === last?.header || bearerScheme.test(authorization.trim())) places += 1;
    } else if (keyHeader !== undefined && isNamed(name, keyHeader)) {
      if (key !== undefined) return ambiguous('The key header is repeated');
      key = rawHeaders[at + 1]!.trim();
      places += 1;
    }
  }
  const query = keyQuery === undefined ? undefined : queryValues(carrier.url ?? '', keyQuery);
  if (query !== undefined && query.length > 0) {
    if (query.length > 1) return ambiguous('The key parameter is repeated');
    key = query[0];
    places += 1;
  }
  if (places > 1) return ambiguous();
  if (key !== undefined) return key === '' ? absent : { kind: 'key', text: key };
  if (places === 0 || authorization === undefined) return absent;
  if (authorization === last?.header) return last;
  const text = bearer.exec(authorization.trim())?.[1];
  return text === undefined
    ? new Failure('token_invalid', { message: 'The token is malformed' })
    : new BearerCredential(text, authorization);
}

function isNamed(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted;
}

/** RFC 6750, 2: clients must not use more than one method in a request. */
function ambiguous(message?: string): Failure {
  return new Failure('credentials_ambiguous', message === undefined ? {} : { message });
}

function queryValues(url: string, name: string): string[] {
  const start = url.indexOf('?');
  return start === -1 ? [] : new URLSearchParams(url.slice(start)).getAll(name);
}

/** The URL without the key parameter, however its name is encoded: for everything that is logged or passed on. */
export function withoutKey(url: string, name: string): string {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const kept = url
    .slice(start + 1)
    .split('&')
    // Parsed as in `queryValues`, so that every spelling that counts as the key is removed.
    .filter((part) => !new URLSearchParams(`?${part}`).has(name));
  return kept.length === 0 ? url.slice(0, start) : `${url.slice(0, start)}?${kept.join('&')}`;
}
