/** Fetches documents of issuers: bounded in time and size, only over TLS or loopback, and without redirects. */

import type { WallClock } from '../observe/ports.ts';
import { identityLimits } from './limits.ts';
import type { Fetch, FetchInit } from './ports.ts';

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
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return false;
  }
  if (url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.test(url.hostname));
}

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export type DocumentRequest = Pick<FetchInit, 'method' | 'headers'> & { readonly body?: string };

const get: DocumentRequest = { method: 'GET', headers: {} };

/** Rejects with an `IssuerError`. */
export async function fetchDocument(
  url: string,
  { fetch, time }: IssuerPorts,
  request: DocumentRequest = get,
): Promise<Readonly<Record<string, unknown>>> {
  if (!isSafeAddress(url)) throw new IssuerError('the address is neither https nor on this machine');
  const controller = new AbortController();
  const stop = time.after(identityLimits.issuerMs, () => controller.abort());
  try {
    const headers = { accept: 'application/json', ...request.headers };
    const { status, body } = await fetch(url, { ...request, headers, redirect: 'error', signal: controller.signal });
    const text = await readBounded(body);
    if (status !== 200) throw new IssuerError(`status ${status}`);
    return asObject(text);
  } catch (error) {
    if (error instanceof IssuerError) throw error;
    throw new IssuerError(controller.signal.aborted ? 'no answer in time' : 'no connection');
  } finally {
    stop();
    // A body that is not read to its end would keep its connection.
    controller.abort();
  }
}

async function readBounded(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > identityLimits.issuerBytes) throw new IssuerError('the document is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function asObject(text: string): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new IssuerError('the document is not JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new IssuerError('the document is no object');
  return json as Readonly<Record<string, unknown>>;
}
