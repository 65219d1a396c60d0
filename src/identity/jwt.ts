/** JWTs, verified with their issuer's keys (RFC 9068). */
import { errors, type JWTVerifyGetKey, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import { Failure } from '../errors/failure.ts';
import type { Warn } from '../observe/ports.ts';
import type { IssuerPorts } from './documents.ts';
import { IssuerKeys, type KeySet } from './jwks.ts';
import { identityLimits } from './limits.ts';
import type { IssuerSettings } from './settings.ts';
import { expiryOf, refused, type Verified, verifiedOf } from './verified.ts';

/** RFC 9068, 4 requires `at+jwt`; most issuers use `JWT` or nothing. Any other type was issued for another purpose. */
const types: ReadonlySet<string> = new Set(['at+jwt', 'jwt']);

export class JwtVerifier {
  readonly settings: IssuerSettings;
  readonly #keys: IssuerKeys;
  readonly #outside: IssuerPorts;

  constructor(settings: IssuerSettings, outside: IssuerPorts, warn: Warn) {
    this.settings = settings;
    this.#keys = new IssuerKeys(settings, outside, warn);
    this.#outside = outside;
  }

  /** Rejects only because of a bug of ours. */
  async verify(token: string): Promise<Verified | Failure> {
    const keys = await this.#keys.get();
    if (keys === undefined) return new Failure('issuer_unavailable');
    try {
      const { payload, protectedHeader } = await this.#verifyWith(keys, token);
      if (!isAccessToken(protectedHeader.typ)) return refused('The token is of another type');
      const expiresAt = expiryOf(payload.exp!, this.settings.clockToleranceMs);
      return verifiedOf(this.settings, payload, expiresAt);
    } catch (error) {
      return failureOf(error);
    }
  }

  async #verifyWith(keys: KeySet, token: string): Promise<JWTVerifyResult> {
    const { issuer, clockToleranceMs, algorithms } = this.settings;
    const options: JWTVerifyOptions = {
      issuer,
      algorithms: [...algorithms],
      clockTolerance: clockToleranceMs / 1000,
      currentDate: new Date(this.#outside.time.now()),
      requiredClaims: ['exp'],
    };
    try {
      return await verifyByAny(token, keys.keys, options);
    } catch (error) {
      const newer = error instanceof errors.JWKSNoMatchingKey ? await this.#keys.newer(keys) : undefined;
      if (newer === undefined) throw error;
      return verifyByAny(token, newer.keys, options);
    }
  }
}

/** A token that names no key may be signed by any key that fits. */
async function verifyByAny(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (++tried > identityLimits.keysTried) break;
      try {
        return await jwtVerify(token, key, options);
      } catch (failed) {
        if (!(failed instanceof errors.JWSSignatureVerificationFailed)) throw failed;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function isAccessToken(typ: unknown): boolean {
  if (typ === undefined) return true;
  return typeof typ === 'string' && types.has(typ.toLowerCase().replace(/^application\//, ''));
}

/** Maps the library's error to a message that repeats nothing of the token. */
function failureOf(error: unknown): Failure {
  if (error instanceof errors.JWTExpired) return new Failure('token_expired');
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(claimMessages[error.claim] ?? 'A claim is not valid');
  if (error instanceof errors.JOSEAlgNotAllowed) return refused('The algorithm of the signature is not allowed');
  if (error instanceof errors.JWKSNoMatchingKey) return refused('The token is signed by an unknown key');
  if (error instanceof errors.JWSSignatureVerificationFailed) return refused('The signature is not valid');
  return refused('The token is malformed');
}

const claimMessages: Readonly<Record<string, string>> = {
  exp: 'The token has no expiry',
  nbf: 'The token is not valid yet',
  iss: 'The issuer of the token is not configured',
};
