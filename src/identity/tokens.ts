/** Tokens of every issuer: which one a token is of, what it comes to, and for how long that is remembered. */
import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { Failure } from '../errors/failure.ts';
import type { Warn } from '../observe/ports.ts';
import type { IssuerPorts } from './documents.ts';
import { IntrospectionVerifier } from './introspection.ts';
import { JwtVerifier } from './jwt.ts';
import { identityLimits } from './limits.ts';
import type { Principal } from './principal.ts';
import type { IssuerSettings } from './settings.ts';
import { TokenCache } from './token-cache.ts';
import type { Verified } from './verified.ts';

type Verifier = JwtVerifier | IntrospectionVerifier;

export class TokenVerifiers {
  readonly #outside: IssuerPorts;
  readonly #warn: Warn;
  readonly #byIssuer: Map<string, Verifier>;
  /** Whom to ask about tokens that nobody can read. One alone: a token is not shown around. */
  readonly #opaque: IntrospectionVerifier | undefined;
  readonly #good = new TokenCache<Verified>(identityLimits.verifiedTokens);
  readonly #bad = new TokenCache<Failure>(identityLimits.refusedTokens);
  /** As many as there are requests. The same token is checked once, however often it comes at once. */
  readonly #checking = new Map<string, Promise<Verified | Failure>>();
  /** So that an issuer can be asked again about what is still in use. They live as long as their principals. */
  readonly #askedAbout = new WeakMap<Principal, string>();
  readonly #presented = new WeakMap<Principal, string>();

  /** What an issuer said, when it was asked again, is over. */
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

  /** One more, whose address was not known before. */
  trust(issuer: IssuerSettings): void {
    if (this.#byIssuer.has(issuer.issuer)) return;
    this.#byIssuer.set(issuer.issuer, new JwtVerifier(issuer, this.#outside, this.#warn));
  }

  /** At once where the token was seen lately. Never throws or rejects. */
  verify(token: string): Verified | Failure | Promise<Verified | Failure> {
    const id = hashOf(token);
    const now = this.#outside.time.now();
    return this.#good.get(id, now) ?? this.#bad.get(id, now) ?? this.#checking.get(id) ?? this.#check(id, token);
  }

  /**
   * Whether what was presented is still good. Of tokens that their issuer was asked about, it is asked again when its
   * answer gets old; until it has answered, the old answer holds.
   */
  stillGood(principal: Principal): boolean {
    if (principal.expiresAt !== undefined && principal.expiresAt <= this.#outside.time.now()) return false;
    if (this.#over.has(principal) || !this.#byIssuer.has(principal.issuer ?? '')) return false;
    const token = this.#askedAbout.get(principal);
    if (token === undefined) return true;
    const known = this.verify(token);
    // Its answer is not kept for long, and need not be there any more when somebody looks again.
    const hear = (outcome: Verified | Failure) => {
      if (outcome instanceof Failure && outcome.reason !== 'issuer_unavailable') this.#over.add(principal);
    };
    if (known instanceof Promise) void known.then(hear);
    else hear(known);
    return !this.#over.has(principal);
  }

  /** What the principal presented: to be exchanged at an authorization server, and shown to nobody else. */
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
    const message = issuer === undefined ? 'The token is malformed' : 'The issuer is not known here';
    return new Failure('token_invalid', { message });
  }

  async #settle(id: string, token: string, verifier: Verifier): Promise<Verified | Failure> {
    let outcome: Verified | Failure;
    try {
      outcome = await verifier.verify(token);
    } catch {
      // Whatever it was, it was not proven.
      outcome = new Failure('token_invalid');
    }
    const now = this.#outside.time.now();
    if (outcome instanceof Failure) {
      if (outcome.reason !== 'issuer_unavailable') this.#bad.set(id, outcome, now + identityLimits.refusedMs);
      return outcome;
    }
    const asked = verifier instanceof IntrospectionVerifier;
    const keepMs = asked ? identityLimits.introspectedMs : identityLimits.verifiedMs;
    this.#good.set(id, outcome, Math.min(now + keepMs, outcome.principal.expiresAt ?? Number.POSITIVE_INFINITY));
    if (asked) this.#askedAbout.set(outcome.principal, token);
    this.#presented.set(outcome.principal, token);
    return outcome;
  }
}

function hashOf(token: string): string {
  // In one step: for a text of this size it costs no more than to look up the text itself.
  return hash('sha256', token, 'base64');
}

/** As the token says itself, unproven: it only chooses who is to prove it. Undefined where it cannot be read, or says nothing. */
function issuerOf(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
}
