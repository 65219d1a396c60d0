/** Turns credentials into a principal, or into a failure that says what is wrong with them. */
import { Failure } from '../errors/failure.ts';
import { checkAudience } from './audience.ts';
import type { EndpointAuth, GuardedAuth } from './auth-metadata.ts';
import { type BearerCredential, type Carrier, type Credential, findCredential } from './credentials.ts';
import { keyPrefix } from './key-file.ts';
import type { Keys } from './keys.ts';
import { localPrincipal, type Principal } from './principal.ts';
import type { TokenVerifiers } from './tokens.ts';
import type { Verified } from './verified.ts';

/** Everybody at an endpoint that requires no credentials. */
export const anybody = localPrincipal();

/** A value, not a promise, unless an issuer must be contacted: for keys always, for tokens that are cached. */
export type Identified = Principal | Failure | Promise<Principal | Failure>;

export interface IdentityParts {
  readonly keys?: Keys | undefined;
  readonly tokens?: TokenVerifiers | undefined;
}

export class Identity {
  readonly #keys: Keys | undefined;
  readonly #tokens: TokenVerifiers | undefined;
  /**
   * The credential that each connection presented last with a POST, if it was accepted: the text is kept as long as the
   * connection. It saves reading and hashing the same text again; whether the credential is still valid is looked up
   * for every request. A connection that becomes a stream has nothing more to present.
   */
  readonly #last = new WeakMap<object, BearerCredential>();

  constructor({ keys, tokens }: IdentityParts) {
    this.#keys = keys;
    this.#tokens = tokens;
  }

  /** Never throws or rejects. */
  identify(carrier: Carrier, guard: EndpointAuth): Identified {
    if (guard.kind === 'open') return anybody;
    const { socket, method } = carrier;
    const last = socket && this.#last.get(socket);
    const credential = findCredential(carrier, guard, last);
    if (credential instanceof Failure) return credential;
    const found = this.#verify(credential, guard);
    const isNew = credential !== last && credential.kind === 'bearer' && socket !== undefined && method === 'POST';
    if (isNew && !(found instanceof Failure || found instanceof Promise)) this.#last.set(socket, credential);
    return found;
  }

  #verify(credential: Credential, guard: GuardedAuth): Identified {
    switch (credential.kind) {
      case 'none':
        return new Failure('credentials_missing');
      case 'key':
        return this.#byKey(credential.text, undefined, guard);
      case 'bearer':
        // Credentials that look like one of our keys are never sent to an issuer.
        return credential.text.startsWith(keyPrefix) || !guard.tokens
          ? this.#byKey(credential.text, credential.digest, guard)
          : this.#byToken(credential, guard);
    }
  }

  /** For open streams: whether the credentials behind it are still valid. Called often, and cheap. */
  stillGood(principal: Principal): boolean {
    switch (principal.kind) {
      case 'local':
        return true;
      case 'key':
        return this.#keys?.stillGood(principal) ?? false;
      case 'token':
        return this.#tokens?.stillGood(principal) ?? false;
    }
  }

  /** The principal with this access key. */
  holderOf(secret: string): Principal | undefined {
    const found = this.#keys?.find(secret);
    return found instanceof Failure ? undefined : found;
  }

  /** Of access keys that have not expired. */
  get keyHolders(): readonly Principal[] {
    return this.#keys?.holders ?? [];
  }

  tokenOf(principal: Principal): string | undefined {
    return this.#tokens?.tokenOf(principal);
  }

  #byKey(text: string, digest: string | undefined, guard: GuardedAuth): Principal | Failure {
    return guard.keys && this.#keys !== undefined ? this.#keys.find(text, digest) : new Failure('key_unknown');
  }

  #byToken({ text, digest }: BearerCredential, guard: GuardedAuth): Identified {
    if (this.#tokens === undefined) return new Failure('token_invalid');
    const verified = this.#tokens.verify(text, digest);
    return verified instanceof Promise ? verified.then((outcome) => admit(outcome, guard)) : admit(verified, guard);
  }
}

function admit(verified: Verified | Failure, { ours }: GuardedAuth): Principal | Failure {
  if (verified instanceof Failure) return verified;
  const rule = { ours, mayBeAbsent: verified.audienceMayBeAbsent };
  return checkAudience(verified.audience, rule) ?? verified.principal;
}
