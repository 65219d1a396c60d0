/** Fetches metadata documents. */
import { Failure } from '../../errors/failure.ts';
import { type GuardedFetch, untrusted } from './guarded-fetch.ts';

export type Document = Readonly<Record<string, unknown>>;

/**
 * The first document that exists. A status of 400 to 499 means that there is none at that URL. Any other failure
 * throws, and no further URL is tried: otherwise an attacker who can break one URL could choose the next.
 */
export async function firstDocument(
  guardedFetch: GuardedFetch,
  addresses: readonly string[],
): Promise<Document | undefined> {
  for (const address of addresses) {
    const response = await guardedFetch.fetch(address, { method: 'GET', headers: { accept: 'application/json' } });
    if (response.status >= 400 && response.status < 500) continue;
    if (response.status >= 500) throw new Failure('authorization_unavailable');
    if (response.status !== 200) throw untrusted('One of its metadata documents is a redirect, or has an odd status');
    return asObject(await response.text());
  }
  return undefined;
}

function asObject(text: string): Document {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw untrusted('One of its metadata documents is not JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw untrusted('One of its metadata documents is no object');
  }
  return json as Document;
}

/** The well-known URL: the suffix goes between host and path (RFC 8414, 3.1; RFC 9728, 3.1). */
export function wellKnown(address: string, suffix: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}/.well-known/${suffix}${pathname === '/' ? '' : pathname}`;
}
