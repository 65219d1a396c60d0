/** Metadata documents: whether there is one, and what it says. */
import { Failure } from '../../errors/failure.ts';
import { type GuardedFetch, untrusted } from './guarded-fetch.ts';

export type Document = Readonly<Record<string, unknown>>;

/**
 * The first that there is. A status of 400 to 499 means that there is none at that place; everything else that is no
 * document means that nobody can tell, and then it is not looked for elsewhere: whoever can break one place would choose.
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

/** A well-known place of an address: between host and path (RFC 8414, 3.1; RFC 9728, 3.1). */
export function wellKnown(address: string, suffix: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}/.well-known/${suffix}${pathname === '/' ? '' : pathname}`;
}
