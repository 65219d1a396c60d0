/**
 * Whether a modern backend speaks the legacy era as well. `supportedVersions` need not say so: the official SDKs list
 * only modern revisions. A response to `initialize` decides it. Silence or an outage does not, so we ask again, at the
 * latest for the next legacy client.
 */
import type { Discovery } from '../exchange/upstream-session.ts';
import type { TimerClock } from './deadlines.ts';
import type { ProbeAnswer } from './question.ts';
import { saysNothing, type Transport } from './verdict.ts';

export type Half = 'present' | 'absent' | 'unknown';

/** What a failed `initialize` says about the legacy half. */
export function halfAfter(answer: ProbeAnswer, transport: Transport): Exclude<Half, 'present'> {
  if (answer.kind === 'silent') return 'unknown';
  return saysNothing(answer.http?.status, transport, answer.kind === 'answered') ? 'unknown' : 'absent';
}

/** `discovery`: that of the legacy half, where it is present. It may differ from the modern one. */
export interface AskedHalf {
  readonly half: Half;
  readonly discovery?: Discovery;
}

export interface LegacyHalfOptions {
  /** Sends `initialize`, over stdio in a separate process. Never rejects. */
  ask(): Promise<AskedHalf>;
  /** The backend speaks the legacy era as well. */
  found(): void;
  readonly clock: Pick<TimerClock, 'now'>;
  /** After an undecided attempt, callers do not wait for another one for this long. */
  readonly pauseMs: number;
}

export class LegacyHalf {
  readonly #options: LegacyHalfOptions;
  /** What legacy clients get, in place of the discovery of the modern half. */
  discovery: Discovery | undefined;
  #half: Half = 'absent';
  #asking: Promise<void> | undefined;
  #dueAt = 0;

  constructor(options: LegacyHalfOptions) {
    this.#options = options;
  }

  /** Takes over the result of a full probe. `probeAgain` asks the modern half only, and leaves this result as it is. */
  probed(half: Half): void {
    this.discovery = undefined;
    this.#half = half;
    this.#dueAt = 0;
  }

  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /**
   * Finds out whether there is a legacy half, where that is open. Concurrent callers share one attempt. Never rejects.
   */
  seek(): Promise<void> {
    if (this.#half !== 'unknown') return Promise.resolve();
    if (this.#asking === undefined && this.#options.clock.now() < this.#dueAt) return Promise.resolve();
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { ask, found, clock, pauseMs } = this.#options;
    const { half, discovery } = await ask();
    this.discovery = discovery && { ...discovery, eras: ['modern', 'legacy'] };
    // A probe may have decided it meanwhile.
    if (this.#half !== 'unknown') return;
    this.#half = half;
    if (half === 'present') found();
    else this.#dueAt = clock.now() + pauseMs;
  }
}
