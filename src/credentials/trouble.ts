/** When to leave a backend alone: for one principal, for a while, with what went wrong kept for whoever asks. */
import { Failure, type Reason } from '../errors.ts';
import { credentialLimits } from './limits.ts';

/** These say something of the call or the caller, not of the way to the backend. */
const harmless: ReadonlySet<Reason> = new Set(['consent_needed', 'exchange_impossible', 'backend_forbidden']);

export class Trouble {
  #inARow = 0;
  /** When tokens were refused that we thought good. At most as many as are counted. */
  #refusals: number[] = [];
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

  /** Whatever it is refused for, one after another is a circle, also where each asks for something new. */
  refused(now: number): Failure | undefined {
    this.#refusals = [...this.#refusals.filter((at) => at > now - credentialLimits.refusalsMs), now];
    if (this.#refusals.length <= credentialLimits.failures) return undefined;
    const failure = new Failure('backend_unauthorized');
    this.#stop(failure, now);
    return failure;
  }

  succeeded(): void {
    this.#inARow = 0;
  }

  #stop(failure: Failure, now: number): void {
    this.#inARow = 0;
    this.#refusals = [];
    this.#standing = { failure, until: now + credentialLimits.disabledMs };
  }
}
