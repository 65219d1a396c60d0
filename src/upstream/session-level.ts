/**
 * The log level of an upstream session whose requests have levels of their own: a legacy backend has one level per
 * session. The most verbose level of the requests in flight is set. The responder filters, so each request gets what it
 * asked for and no more.
 */
import type { Call, CallRequest, CallSink } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import { within } from '../exchange/within.ts';
import { mostVerbose } from '../wire/log-level.ts';

/** Servers set the level at once or never. No call waits longer than this for its log messages. */
const SET_LEVEL_MS = 2_000;

const nothing = (): void => undefined;

/** Starts a request on the session. */
export type StartRequest = (request: CallRequest, sink: CallSink) => Call;

export class SessionLevel {
  readonly #clock: Clock;
  /** The wanted level by call. */
  readonly #wishes = new Map<object, string>();
  /** The level last sent. It is not sent again, even if the backend refused it. */
  #told: string | undefined;
  #telling: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what to wait for where the level must be sent first. It never rejects, and has a time limit. */
  want(who: object, level: string | undefined, start: StartRequest): Promise<void> | undefined {
    if (level === undefined) {
      this.leave(who, start);
      return undefined;
    }
    this.#wishes.set(who, level);
    return this.#adjust(start);
  }

  leave(who: object, start: StartRequest): void {
    if (this.#wishes.delete(who)) void this.#adjust(start);
  }

  #adjust(start: StartRequest): Promise<void> | undefined {
    if (this.#telling === undefined && this.#untold() !== undefined) this.#telling = this.#tellAll(start);
    return this.#telling;
  }

  /** Where no call wants log messages, the backend's level stays, and its messages are dropped. */
  #untold(): string | undefined {
    const wanted = mostVerbose(this.#wishes.values());
    return wanted === this.#told ? undefined : wanted;
  }

  /** One after the other: two at once could arrive in the wrong order. */
  async #tellAll(start: StartRequest): Promise<void> {
    for (let level = this.#untold(); level !== undefined; level = this.#untold()) {
      this.#told = level;
      await this.#tell(level, start);
    }
    this.#telling = undefined;
  }

  async #tell(level: string, start: StartRequest): Promise<void> {
    let call: Call | undefined;
    const set = callOnce((sink) => {
      call = start(ownRequest('logging/setLevel', { level }), sink);
      return call;
    });
    // The outcome makes no difference.
    const tried = set.then(nothing, nothing);
    await within(this.#clock, SET_LEVEL_MS, tried, () => call?.cancel('The log level was not set in time'));
  }
}
