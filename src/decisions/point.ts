/** One decision point: every question has a time limit and a slot, and is not sent while the circuit is open. */
import type { Clock } from '../exchange/clock.ts';
import { Breaker } from './breaker.ts';
import { asFault, DecisionFault } from './fault.ts';
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
    if (!this.#breaker.begin()) return { fault: new DecisionFault('circuit_open'), ms: 0 };
    const controller = new AbortController();
    const stop = this.#clock.after(this.settings.timeoutMs, () => controller.abort(new DecisionFault('too_slow')));
    try {
      const answer = await this.#inSlot(holder, controller.signal, send);
      this.#breaker.ended('answered');
      return { ...answer, ms: passed() };
    } catch (error) {
      const fault = asFault(error);
      this.#breaker.ended(fault.isOfPoint ? 'failed' : 'unknown');
      return { fault, ms: passed() };
    } finally {
      stop();
    }
  }

  async #inSlot<D>(holder: string, signal: AbortSignal, send: Send<D>): Promise<ProtocolAnswer<D>> {
    const leave = await this.#slots.enter(holder, signal);
    try {
      return await send(this.#protocol, signal);
    } finally {
      leave();
    }
  }
}
