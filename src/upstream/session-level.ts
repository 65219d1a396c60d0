/**
 * The log level of one upstream session that serves requests with levels of their own: a legacy backend has one level a session.
 * The most verbose one of the requests in flight is set; each of them hears what it asked for and no more (the drive filters).
 */
import type { Call, CallRequest, CallSink } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import { mostVerbose } from '../wire/log-level.ts';

/** A backend sets its level at once or never. No call is held up for its log messages longer than that. */
const SET_LEVEL_MS = 2_000;

/** Makes a request on the session. */
export type StartRequest = (request: CallRequest, sink: CallSink) => Call;

export class SessionLevel {
  readonly #clock: Clock;
  /** By the call that has it. */
  readonly #wishes = new Map<object, string>();
  /** What the backend was told last. Whether it agreed changes nothing: it is not told the same again. */
  #told: string | undefined;
  #telling: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What to wait for, where the backend has to be told first. It never rejects, and ends in time. */
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

  /** Where nobody wants anything, whatever comes is dropped: that is no reason to tell the backend. */
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

  #tell(level: string, start: StartRequest): Promise<void> {
    return new Promise((resolve) => {
      let call: Call | undefined;
      const stop = this.#clock.after(SET_LEVEL_MS, () => {
        call?.cancel('The log level was not set in time');
        resolve();
      });
      const done = () => {
        stop();
        resolve();
      };
      callOnce((sink) => {
        call = start(ownRequest('logging/setLevel', { level }), sink);
        return call;
      }).then(done, done);
    });
  }
}
