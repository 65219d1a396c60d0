/**
 * The keys that sign tokens and cookies. They are made on the first start, stored, and rotated; old keys still verify.
 */
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
  /** Including the private parts. */
  readonly signing: { readonly keys: readonly JWK[] };
  readonly cookie: string;
  /** The public parts. */
  readonly published: JSONWebKeySet;
}

const COLLECTION = 'oauth:keys';
const KEY = 'server';
const COOKIE_KEY_BYTES = 32;
/** Two processes that start at once may both make keys; the second one then takes those of the first. */
const ATTEMPTS = 8;

/** `tokenTtlMs` decides for how long a retired key still verifies. */
export async function loadKeys(records: Records, now: number, tokenTtlMs: number): Promise<ServerKeys> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const text = await records.get(COLLECTION, KEY);
    const kept = text === undefined ? undefined : (JSON.parse(text) as KeptKeys);
    const renewed = await renew(kept, now, tokenTtlMs);
    if (renewed === kept && kept !== undefined) return publicised(kept);
    if (await records.replace(COLLECTION, KEY, text, JSON.stringify(renewed))) return publicised(renewed);
  }
  throw new Error('the keys of the authorization server could not be stored: other processes keep changing them');
}

/** Returns the same object if no new key is due. */
async function renew(kept: KeptKeys | undefined, now: number, tokenTtlMs: number): Promise<KeptKeys> {
  const newest = kept?.signing[0];
  const isYoung = newest !== undefined && now - newest.madeAt < authServerLimits.signingKeyMs;
  if (kept !== undefined && isYoung) return kept;
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const kid = randomBytes(12).toString('base64url');
  const jwk: JWK = { ...(await exportJWK(privateKey)), kid, alg: signingAlgorithm, use: 'sig' };
  // A key signs until its successor is made, which is now. Its tokens live for `tokenTtlMs` after that, and clocks
  // differ.
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
