/** What stays open ends when the credentials that opened it do: expired, revoked, or no longer known. */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Principal } from '../identity/principal.ts';

/** How long something may outlive its credentials. */
const LOOK_MS = 5_000;

/** What somebody is told whose credentials ended first. */
export function outlived({ kind }: Principal): Failure {
  return kind === 'key'
    ? new Failure('key_expired', { message: 'The key has expired, or was revoked' })
    : new Failure('token_expired', { message: 'The token has expired, or was revoked' });
}

interface ExpiringHold {
  readonly principal: Principal;
  readonly end: () => void;
}

export class CredentialExpiry {
  readonly #clock: Clock;
  readonly #stillGood: (principal: Principal) => boolean;
  readonly #held = new Set<ExpiringHold>();
  #stopLooking: (() => void) | undefined;

  constructor(clock: Clock, stillGood: (principal: Principal) => boolean) {
    this.#clock = clock;
    this.#stillGood = stillGood;
  }

  /** Calls `end` once when the time has come. Returns what to call when it is over by itself. */
  hold(principal: Principal, end: () => void): () => void {
    if (principal.kind === 'local') return () => undefined;
    const held = { principal, end };
    this.#held.add(held);
    this.#stopLooking ??= this.#clock.after(LOOK_MS, () => this.#look());
    return () => this.#held.delete(held);
  }

  /** Without waiting for the time to come: what credentials are good may be another question than before. */
  look(): void {
    for (const held of [...this.#held]) {
      if (this.#stillGood(held.principal)) continue;
      this.#held.delete(held);
      held.end();
    }
  }

  close(): void {
    this.#stopLooking?.();
    this.#held.clear();
  }

  #look(): void {
    // Armed first: one that cannot be ended must not keep the others from it.
    this.#stopLooking = this.#clock.after(LOOK_MS, () => this.#look());
    this.look();
    if (this.#held.size > 0) return;
    this.#stopLooking();
    this.#stopLooking = undefined;
  }
}
