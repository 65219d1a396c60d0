/** Opaque tokens: their issuer is asked about them (RFC 7662). */
import { Failure } from '../errors/failure.ts';
import type { Warn } from '../observe/ports.ts';
import { fetchDocument, IssuerError, type IssuerPorts } from './documents.ts';
import { identityLimits } from './limits.ts';
import type { IntrospectionSettings, IssuerSettings } from './settings.ts';
import { expiryOf, refused, type Verified, verifiedOf } from './verified.ts';

export class IntrospectionVerifier {
  readonly settings: IssuerSettings;
  readonly #introspection: IntrospectionSettings;
  readonly #outside: IssuerPorts;
  readonly #warn: Warn;
  readonly #authorization: string;
  #asking = 0;

  constructor(settings: IssuerSettings, introspection: IntrospectionSettings, outside: IssuerPorts, warn: Warn) {
    this.settings = settings;
    this.#introspection = introspection;
    this.#outside = outside;
    this.#warn = warn;
    // RFC 6749, 2.3.1: both parts are form-encoded.
    const pair = [introspection.clientId, introspection.clientSecret].map(encodeURIComponent).join(':');
    this.#authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  }

  async verify(token: string): Promise<Verified | Failure> {
    if (this.#asking >= identityLimits.introspections) return new Failure('issuer_unavailable');
    this.#asking += 1;
    try {
      return this.#read(await this.#ask(token));
    } catch (error) {
      const why = error instanceof IssuerError ? error.message : 'unknown';
      this.#warn('the introspection endpoint of an issuer cannot be used', { issuer: this.settings.issuer, why });
      return new Failure('issuer_unavailable');
    } finally {
      this.#asking -= 1;
    }
  }

  #ask(token: string): Promise<Readonly<Record<string, unknown>>> {
    return fetchDocument(this.#introspection.url, this.#outside, {
      method: 'POST',
      headers: { authorization: this.#authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    });
  }

  #read(answer: Readonly<Record<string, unknown>>): Verified | Failure {
    const { issuer, clockToleranceMs } = this.settings;
    const { active, exp, nbf, iss } = answer;
    if (active !== true) return refused('The token is not active');
    if (iss !== undefined && iss !== issuer) return refused('The issuer of the token is not configured');
    if (![exp, nbf].every(isTime)) return refused('The token is malformed');
    const now = this.#outside.time.now();
    if (typeof nbf === 'number' && nbf * 1000 > now + clockToleranceMs) return refused('The token is not valid yet');
    const expiresAt = typeof exp === 'number' ? expiryOf(exp, clockToleranceMs) : undefined;
    if (expiresAt !== undefined && expiresAt <= now) return new Failure('token_expired');
    return verifiedOf(this.settings, answer, expiresAt);
  }
}

function isTime(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value));
}
