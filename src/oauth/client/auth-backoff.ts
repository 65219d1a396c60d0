/**
 * Stops authorization attempts at a backend for one principal for a while, and keeps the failure to report meanwhile.
 */
import { Failure, type Reason } from '../../errors/failure.ts';
import { credentialLimits } from './limits.ts';

/** These concern the call or the caller, not the authorization of the backend. */
const harmless: ReadonlySet<Reason> = new Set(['consent_needed', 'exchange_impossible', 'backend_forbidden']);

export class AuthBackoff {
  #inARow = 0;
  /** When refused tokens were replaced. Holds at most as many as are counted. */
  #replaced: number[] = [];
  #standing: { readonly failure: Failure; readonly until: number } | undefined;

  /** Undefined if an attempt is allowed. */
  standing(now: number): Failure | undefined {
    if (this.#standing !== undefined && this.#standing.until <= now) this.#standing = undefined;
    return this.#standing?.failure;
  }

  failed(failure: Failure, now: number): void {
    if (harmless.has(failure.reason)) return;
    this.#inARow += 1;
    if (this.#inARow >= credentialLimits.failures) this.#stop(failure, now);
  }

  /**
   * The current token was refused. Several replacements in a row are a loop, even if each requests new scopes. A
   * refusal that only leads to a consent request does not count: the token may be good for other calls.
   */
  refused(now: number): Failure | undefined {
    this.#replaced = this.#replaced.filter((at) => at > now - credentialLimits.refusalsMs);
    if (this.#replaced.length < credentialLimits.failures) return undefined;
    const failure = new Failure('backend_unauthorized');
    this.#stop(failure, now);
    return failure;
  }

  /** A refused token was replaced. */
  replaced(now: number): void {
    this.#replaced.push(now);
  }

  succeeded(): void {
    this.#inARow = 0;
  }

  /** A person has given a new consent: earlier failures do not count any more. */
  forgive(): void {
    this.#inARow = 0;
    this.#replaced = [];
    this.#standing = undefined;
  }

  #stop(failure: Failure, now: number): void {
    this.#inARow = 0;
    this.#replaced = [];
    this.#standing = { failure, until: now + credentialLimits.disabledMs };
  }
}
