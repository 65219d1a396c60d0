/** Ends streams and connections whose credentials have expired, were revoked, or are no longer known. */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Principal } from '../identity/principal.ts';
import type { CurrentGeneration } from './generation.ts';

/** How long a stream or connection may outlive its credentials. */
const LOOK_MS = 5_000;

/** The failure for a client whose credentials ended before its stream or connection. */
export function outlived({ kind }: Principal): Failure {
  return kind === 'key'
    ? new Failure('key_expired', { message: 'The key has expired, or was revoked' })
    : new Failure('token_expired', { message: 'The token has expired, or was revoked' });
}

interface ExpiringHold {
  readonly principal: Principal;
  readonly end: () => void;
}

const holdsNothing = (): void => undefined;

export class CredentialExpiry {
  readonly #clock: Clock;
  readonly #currentGeneration: CurrentGeneration;
  readonly #held = new Set<ExpiringHold>();
  #stopLooking: (() => void) | undefined;

  constructor(clock: Clock, currentGeneration: CurrentGeneration) {
    this.#clock = clock;
    this.#currentGeneration = currentGeneration;
  }

  /**
   * Calls `end` once when the credentials are no longer valid. Call the returned function when the holder ends by
   * itself.
   */
  hold(principal: Principal, end: () => void): () => void {
    if (principal.kind === 'local') return holdsNothing;
    const held = { principal, end };
    this.#held.add(held);
    this.#stopLooking ??= this.#clock.after(LOOK_MS, () => this.#look());
    return () => this.#held.delete(held);
  }

  /** Checks now, without waiting for the timer: a reload may have changed which credentials are valid. */
  look(): void {
    const { authenticator } = this.#currentGeneration.now;
    for (const held of [...this.#held]) {
      if (authenticator.stillGood(held.principal)) continue;
      this.#held.delete(held);
      held.end();
    }
  }

  close(): void {
    this.#stopLooking?.();
    this.#held.clear();
  }

  #look(): void {
    // Set the timer first: if ending one holder throws, the others must still be checked.
    this.#stopLooking = this.#clock.after(LOOK_MS, () => this.#look());
    this.look();
    if (this.#held.size > 0) return;
    this.#stopLooking();
    this.#stopLooking = undefined;
  }
}
