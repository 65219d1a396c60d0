/** When to leave a backend alone: for one principal, for a while, with what went wrong kept for whoever asks. */
import { Failure, type Reason } from '../../errors/failure.ts';
import { credentialLimits } from './limits.ts';

/** These say something of the call or the caller, not of the way to the backend. */
const harmless: ReadonlySet<Reason> = new Set(['consent_needed', 'exchange_impossible', 'backend_forbidden']);

export class AuthBackoff {
  #inARow = 0;
  /** When a token that was refused was replaced by another one. At most as many as are counted. */
  #replaced: number[] = [];
  #standing: { readonly failure: Failure; readonly until: number } | undefined;

  /** Undefined where nothing stands against trying. */
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
   * What is in hand was refused. Whatever for, one replacement after another is a circle, also where each asks for something
   * new. A refusal that comes to nothing but a question to a person is none: what is in hand may be good for other calls.
   */
  refused(now: number): Failure | undefined {
    this.#replaced = this.#replaced.filter((at) => at > now - credentialLimits.refusalsMs);
    if (this.#replaced.length < credentialLimits.failures) return undefined;
    const failure = new Failure('backend_unauthorized');
    this.#stop(failure, now);
    return failure;
  }

  /** Another token came for one that was refused. */
  replaced(now: number): void {
    this.#replaced.push(now);
  }

  succeeded(): void {
    this.#inARow = 0;
  }

  /** A person has agreed to something new: what went wrong before says nothing of it. */
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
