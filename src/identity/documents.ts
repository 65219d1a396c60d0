/** Fetches documents of issuers: bounded in time and size, only over TLS or loopback, and without redirects. */
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import { fetchWhole } from '../oauth/fetch/body.ts';
import { OutwardError, type OutwardErrorKind } from '../oauth/fetch/errors.ts';
import { documentIn } from '../oauth/well-known.ts';
import type { WallClock } from '../observe/ports.ts';
import { identityLimits } from './limits.ts';

export interface FetchInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly redirect: 'error';
}

export interface Fetched {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** The platform's `fetch` fits. */
export type Fetch = (url: string, init: FetchInit) => Promise<Fetched>;

export interface IssuerPorts {
  readonly fetch: Fetch;
  readonly time: WallClock;
}

/** Its text is for the log and contains nothing that the peer sent. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

/** RFC 8414, 2 and RFC 9728 require TLS. Over loopback nobody can eavesdrop. */
export function isSafeAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
}

export type DocumentRequest = Pick<FetchInit, 'method' | 'headers'> & { readonly body?: string };

const get: DocumentRequest = { method: 'GET', headers: {} };

const troubles: Readonly<Partial<Record<OutwardErrorKind, string>>> = {
  too_large: 'the document is too large',
  too_slow: 'no response in time',
};

/** Rejects with an `IssuerError`. */
export async function fetchDocument(
  url: string,
  { fetch, time }: IssuerPorts,
  request: DocumentRequest = get,
): Promise<Readonly<Record<string, unknown>>> {
  if (!isSafeAddress(url)) throw new IssuerError('the address is neither https nor on this machine');
  const headers = { accept: 'application/json', ...request.headers };
  try {
    const { response, text } = await fetchWhole(
      (signal) => fetch(url, { ...request, headers, redirect: 'error', signal }),
      { ms: identityLimits.issuerMs, bytes: identityLimits.issuerBytes, time },
    );
    if (response.status !== 200) throw new IssuerError(`status ${response.status}`);
    return documentIn(text, (why) => new IssuerError(`the document ${why}`));
  } catch (error) {
    if (error instanceof IssuerError) throw error;
    throw new IssuerError((error instanceof OutwardError && troubles[error.kind]) || 'no connection');
  }
}
