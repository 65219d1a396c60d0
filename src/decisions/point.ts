/** One decision point: every question has a slot and a time limit, and is not sent while the circuit is open. */
import type { Clock } from '../exchange/clock.ts';
import { Breaker } from './breaker.ts';
import { asFault, DecisionFault, type FaultKind } from './fault.ts';
import type { DecisionProtocol, ProtocolAnswer } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
import { QuestionSlots } from './slots.ts';

export type AskedPoint<D> = { readonly ms: number } & (ProtocolAnswer<D> | { readonly fault: DecisionFault });

type Send<D> = (protocol: DecisionProtocol, signal: AbortSignal) => Promise<ProtocolAnswer<D>>;

export class DecisionPoint {
  readonly settings: DecisionPointSettings;
  readonly filtersLists: boolean;
  readonly #protocol: DecisionProtocol;
  readonly #clock: Clock;
  readonly #breaker: Breaker;
  readonly #slots: QuestionSlots;

  constructor(settings: DecisionPointSettings, protocol: DecisionProtocol, clock: Clock) {
    this.settings = settings;
    this.filtersLists = settings.lists && protocol.show !== undefined;
    this.#protocol = protocol;
    this.#clock = clock;
    this.#breaker = new Breaker(clock);
    this.#slots = new QuestionSlots(settings.concurrent);
  }

  /** Never rejects. `holder` is the key of the principal. */
  async ask<D>(holder: string, send: Send<D>): Promise<AskedPoint<D>> {
    const began = this.#clock.now();
    const passed = () => Math.round((this.#clock.now() - began) * 1_000) / 1_000;
    const attempt = this.#breaker.begin();
    if (attempt === undefined) return { fault: new DecisionFault('circuit_open'), ms: 0 };
    try {
      const answer = await this.#inSlot(holder, send);
      this.#breaker.ended(attempt, 'answered');
      return { ...answer, ms: passed() };
    } catch (error) {
      const fault = asFault(error);
      this.#breaker.ended(attempt, fault.isOfPoint ? 'failed' : 'unknown');
      return { fault, ms: passed() };
    }
  }

  /**
   * Waiting has a time limit of its own. With one limit for both, a client could make its questions wait until no time
   * is left for an answer, and that would look like a fault of the decision point.
   */
  async #inSlot<D>(holder: string, send: Send<D>): Promise<ProtocolAnswer<D>> {
    const leave = await this.#within('waited_too_long', (signal) => this.#slots.enter(holder, signal));
    try {
      return await this.#within('too_slow', (signal) => send(this.#protocol, signal));
    } finally {
      leave();
    }
  }

  async #within<T>(late: FaultKind, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const stop = this.#clock.after(this.settings.timeoutMs, () => controller.abort(new DecisionFault(late)));
    try {
      return await act(controller.signal);
    } finally {
      stop();
    }
  }
}
