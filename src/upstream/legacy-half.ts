/**
 * Whether a modern backend speaks the legacy era too. `supportedVersions` need not say so: the official SDKs name the modern
 * revisions alone. An answer to `initialize` tells; silence and an outage tell nothing, so that it is asked again, at the
 * latest when a legacy client comes.
 */
import type { TimerClock } from './deadlines.ts';
import type { ProbeAnswer } from './question.ts';
import { saysNothing, type Transport } from './verdict.ts';

export type Half = 'present' | 'absent' | 'unknown';

/** What became of an `initialize` that was not agreed to. */
export function halfAfter(answer: ProbeAnswer, transport: Transport): Exclude<Half, 'present'> {
  if (answer.kind === 'silent') return 'unknown';
  return saysNothing(answer.http?.status, transport, answer.kind === 'answered') ? 'unknown' : 'absent';
}

export interface LegacyHalfOptions {
  /** Asks `initialize`, in a process of its own over stdio. Never rejects. */
  ask(): Promise<Half>;
  /** It speaks the legacy era too. */
  found(): void;
  readonly clock: Pick<TimerClock, 'now'>;
  /** After a question that told nothing, callers are not made to wait for another one for so long. */
  readonly pauseMs: number;
}

export class LegacyHalf {
  readonly #options: LegacyHalfOptions;
  #half: Half = 'absent';
  #asking: Promise<void> | undefined;
  #dueAt = 0;

  constructor(options: LegacyHalfOptions) {
    this.#options = options;
  }

  /** What a probe told. A half that was found stays: a probe of the modern one says nothing against it. */
  probed(half: Half): void {
    this.#half = half;
    this.#dueAt = 0;
  }

  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** Finds out, where that is open. Concurrent callers share one question. Never rejects. */
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
    const half = await ask();
    // A probe may have told meanwhile.
    if (this.#half !== 'unknown') return;
    this.#half = half;
    if (half === 'present') found();
    else this.#dueAt = clock.now() + pauseMs;
  }
}
