/** The keys that tokens and cookies are signed with: made on the first start, kept, and renewed while old ones still verify. */
import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, type JSONWebKeySet, type JWK } from 'jose';
import type { Records } from '../../store/ports.ts';
import { authServerLimits } from './limits.ts';

export const signingAlgorithm = 'ES256';

interface KeptKeys {
  /** Newest first. Only the first signs. */
  readonly signing: readonly { readonly jwk: JWK; readonly madeAt: number }[];
  readonly cookie: string;
}

export interface ServerKeys {
  /** With the private parts. */
  readonly signing: { readonly keys: readonly JWK[] };
  readonly cookie: string;
  /** What others may know. */
  readonly published: JSONWebKeySet;
}

const COLLECTION = 'oauth:keys';
const KEY = 'server';
const COOKIE_KEY_BYTES = 32;
/** Two processes that start at once may both make keys; whoever comes second takes those of the first. */
const ATTEMPTS = 8;

/** `tokenTtlMs` tells for how long a key that no longer signs is still needed. */
export async function loadKeys(records: Records, now: number, tokenTtlMs: number): Promise<ServerKeys> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const text = await records.get(COLLECTION, KEY);
    const kept = text === undefined ? undefined : (JSON.parse(text) as KeptKeys);
    const renewed = await renew(kept, now, tokenTtlMs);
    if (renewed === kept && kept !== undefined) return publicised(kept);
    if (await records.replace(COLLECTION, KEY, text, JSON.stringify(renewed))) return publicised(renewed);
  }
  throw new Error('the keys of the authorization server change all the time');
}

/** The same value where nothing has to change. */
async function renew(kept: KeptKeys | undefined, now: number, tokenTtlMs: number): Promise<KeptKeys> {
  const newest = kept?.signing[0];
  const isYoung = newest !== undefined && now - newest.madeAt < authServerLimits.signingKeyMs;
  if (kept !== undefined && isYoung) return kept;
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const kid = randomBytes(12).toString('base64url');
  const jwk: JWK = { ...(await exportJWK(privateKey)), kid, alg: signingAlgorithm, use: 'sig' };
  // A key signed until its successor came, which is now; tokens outlive that by their own life, and clocks differ.
  const outlivesMs = authServerLimits.signingKeyMs + 2 * tokenTtlMs;
  const older = (kept?.signing ?? []).filter(({ madeAt }, at) => at === 0 || now - madeAt < outlivesMs);
  return {
    signing: [{ jwk, madeAt: now }, ...older],
    cookie: kept?.cookie ?? randomBytes(COOKIE_KEY_BYTES).toString('base64url'),
  };
}

function publicised({ signing, cookie }: KeptKeys): ServerKeys {
  const keys = signing.map(({ jwk }) => jwk);
  return { signing: { keys }, cookie, published: { keys: keys.map(({ d: _secret, ...open }) => open) } };
}
