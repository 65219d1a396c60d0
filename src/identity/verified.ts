/** The result of a verified token, however it was verified. The audience is checked for each request, per endpoint. */
import { Failure } from '../errors/failure.ts';
import { type Audiences, audienceClaim } from './audience.ts';
import { type Claims, type Principal, tokenPrincipal } from './principal.ts';
import type { IssuerSettings } from './settings.ts';

export interface Verified {
  readonly principal: Principal;
  readonly audience: Audiences | undefined;
  readonly audienceMayBeAbsent: boolean;
}

/** `expiresAt`: when the token is no longer accepted, tolerance included. */
export function verifiedOf(
  settings: IssuerSettings,
  claims: Claims,
  expiresAt: number | undefined,
): Verified | Failure {
  // RFC 8705, 3 and RFC 9449, 6: such a token is valid only together with a key, which we cannot check.
  if (claims.cnf !== undefined && claims.cnf !== null) {
    return refused('The token is bound to a key, which the gateway cannot check');
  }
  const groups = settings.groupsIn?.(claims);
  const principal = tokenPrincipal({ issuer: settings.issuer, claims: deepFrozen(claims), groups, expiresAt });
  if (principal === undefined) return refused('The token has no subject');
  return {
    principal,
    audience: audienceClaim(claims.aud),
    audienceMayBeAbsent: settings.audienceCheckedByVerifier,
  };
}

export function refused(message: string): Failure {
  return new Failure('token_invalid', { message });
}

/** RFC 7519, 2: seconds since 1970. */
export function expiryOf(exp: number, toleranceMs: number): number {
  return exp * 1000 + toleranceMs;
}

/** Iterative: the issuer decides how deeply claims nest. */
function deepFrozen(claims: Claims): Claims {
  const left: unknown[] = [claims];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null || Object.isFrozen(value)) continue;
    Object.freeze(value);
    for (const member of Object.values(value)) if (typeof member === 'object' && member !== null) left.push(member);
  }
  return claims;
}
