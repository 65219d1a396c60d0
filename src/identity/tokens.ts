/** Tokens of all issuers: selects the issuer's verifier and caches its result. */
import { decodeJwt } from 'jose';
import { Failure } from '../errors/failure.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Warn } from '../observe/ports.ts';
import { digestOf } from './credentials.ts';
import type { IssuerPorts } from './documents.ts';
import { IntrospectionVerifier } from './introspection.ts';
import { JwtVerifier } from './jwt.ts';
import { identityLimits } from './limits.ts';
import type { Principal } from './principal.ts';
import type { IssuerSettings } from './settings.ts';
import { refused, type Verified } from './verified.ts';

type Verifier = JwtVerifier | IntrospectionVerifier;

/** By the digest of the token. */
type TokenCache<Value> = BoundedMap<{ readonly value: Value; readonly until: number }>;

export class TokenVerifiers {
  readonly #outside: IssuerPorts;
  readonly #warn: Warn;
  readonly #byIssuer: Map<string, Verifier>;
  /** Verifies tokens that are not JWTs. Only one issuer: a token is not sent to several. */
  readonly #opaque: IntrospectionVerifier | undefined;
  readonly #good: TokenCache<Verified> = new BoundedMap(identityLimits.verifiedTokens);
  readonly #bad: TokenCache<Failure> = new BoundedMap(identityLimits.refusedTokens);
  /** At most one per open request. Concurrent requests with the same token share one check. */
  readonly #checking = new Map<string, Promise<Verified | Failure>>();
  /**
   * Introspected tokens, so that the issuer can be asked again while they are in use. Entries live as long as their
   * principals.
   */
  readonly #askedAbout = new WeakMap<Principal, string>();
  readonly #presented = new WeakMap<Principal, string>();

  /** Principals whose token was found invalid when its issuer was asked again. */
  readonly #over = new WeakSet<Principal>();

  constructor(issuers: readonly IssuerSettings[], outside: IssuerPorts, warn: Warn) {
    this.#outside = outside;
    this.#warn = warn;
    const verifiers = issuers.map((settings) =>
      settings.introspection === undefined
        ? new JwtVerifier(settings, outside, warn)
        : new IntrospectionVerifier(settings, settings.introspection, outside, warn),
    );
    this.#byIssuer = new Map(verifiers.map((verifier) => [verifier.settings.issuer, verifier]));
    this.#opaque = verifiers.find((verifier) => verifier instanceof IntrospectionVerifier);
  }

  /** Adds an issuer whose address was not known before. */
  trust(issuer: IssuerSettings): void {
    if (this.#byIssuer.has(issuer.issuer)) return;
    this.#byIssuer.set(issuer.issuer, new JwtVerifier(issuer, this.#outside, this.#warn));
  }

  /** Returns a value if the token is cached. Never throws or rejects. `id` is the digest of the token. */
  verify(token: string, id = digestOf(token)): Verified | Failure | Promise<Verified | Failure> {
    const now = this.#outside.time.now();
    return (
      current(this.#good, id, now) ?? current(this.#bad, id, now) ?? this.#checking.get(id) ?? this.#check(id, token)
    );
  }

  /**
   * Whether the principal's token is still valid. An introspected token is checked again when the cached result
   * expires; until the issuer has answered, the old result holds.
   */
  stillGood(principal: Principal): boolean {
    if (principal.expiresAt !== undefined && principal.expiresAt <= this.#outside.time.now()) return false;
    if (this.#over.has(principal) || !this.#byIssuer.has(principal.issuer ?? '')) return false;
    const token = this.#askedAbout.get(principal);
    if (token === undefined) return true;
    const known = this.verify(token);
    // The result is cached only briefly and may be gone at the next call, so it is recorded in `#over`.
    const hear = (outcome: Verified | Failure) => {
      if (outcome instanceof Failure && outcome.reason !== 'issuer_unavailable') this.#over.add(principal);
    };
    if (known instanceof Promise) void known.then(hear);
    else hear(known);
    return !this.#over.has(principal);
  }

  /** The token that the principal presented: it is exchanged at an authorization server, and shown to nobody else. */
  tokenOf(principal: Principal): string | undefined {
    return this.#presented.get(principal);
  }

  #check(id: string, token: string): Verified | Failure | Promise<Verified | Failure> {
    const verifier = this.#verifierOf(token);
    if (verifier instanceof Failure) return verifier;
    const checked = this.#settle(id, token, verifier).finally(() => this.#checking.delete(id));
    this.#checking.set(id, checked);
    return checked;
  }

  #verifierOf(token: string): Verifier | Failure {
    const issuer = issuerOf(token);
    const verifier = issuer === undefined ? this.#opaque : this.#byIssuer.get(issuer);
    if (verifier !== undefined) return verifier;
    return refused(issuer === undefined ? 'The token is malformed' : 'The issuer of the token is not configured');
  }

  async #settle(id: string, token: string, verifier: Verifier): Promise<Verified | Failure> {
    let outcome: Verified | Failure;
    try {
      outcome = await verifier.verify(token);
    } catch {
      // Any exception counts as a failed verification.
      outcome = new Failure('token_invalid');
    }
    const now = this.#outside.time.now();
    if (outcome instanceof Failure) {
      if (outcome.reason !== 'issuer_unavailable')
        this.#bad.set(id, { value: outcome, until: now + identityLimits.refusedMs });
      return outcome;
    }
    const asked = verifier instanceof IntrospectionVerifier;
    const keepMs = asked ? identityLimits.introspectedMs : identityLimits.verifiedMs;
    const until = Math.min(now + keepMs, outcome.principal.expiresAt ?? Number.POSITIVE_INFINITY);
    this.#good.set(id, { value: outcome, until });
    if (asked) this.#askedAbout.set(outcome.principal, token);
    this.#presented.set(outcome.principal, token);
    return outcome;
  }
}

function current<Value>(cache: TokenCache<Value>, id: string, now: number): Value | undefined {
  const kept = cache.get(id);
  if (kept === undefined || now < kept.until) return kept?.value;
  cache.delete(id);
  return undefined;
}

/**
 * The issuer that the token names, not yet verified: it only selects the verifier. Undefined if unreadable or absent.
 */
function issuerOf(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
}
