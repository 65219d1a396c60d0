/**
 * A call on an upstream session that belongs to nobody in particular. The lane is given back when the call is over; a session
 * that the backend has forgotten is opened anew, once, for what may be sent again. A call that may have run is not.
 */
import { Failure } from '../errors.ts';
import type { Permit } from '../policy/permit.ts';
import type { Call, CallRequest, CallSink, Outcome } from './call.ts';
import type { Lane } from './lane.ts';

/** An upstream session for one call, given back with `release`. */
export interface OpenedLane {
  readonly lane: Pick<Lane, 'call' | 'discovery' | 'era'>;
  release(): void;
}

export class PooledCall implements Call {
  readonly #request: CallRequest;
  readonly #sink: CallSink;
  readonly #reopen: () => Promise<OpenedLane>;
  #call: Call | undefined;
  #release: () => void = () => undefined;
  #again = true;
  #cancelled = false;

  constructor(request: CallRequest, sink: CallSink, reopen: () => Promise<OpenedLane>) {
    this.#request = request;
    this.#sink = sink;
    this.#reopen = reopen;
  }

  begin(lane: Pick<Lane, 'call'>, permit: Permit, release: () => void): this {
    this.#release = release;
    this.#call = lane.call(permit, this.#request, {
      notify: (notification) => this.#sink.notify(notification),
      ask: (ask) => this.#sink.ask(ask),
      pause: (retryMs) => this.#sink.pause(retryMs),
      settle: (outcome) => this.#settle(outcome, permit),
    });
    return this;
  }

  cancel(reason?: string): void {
    this.#cancelled = true;
    this.#release();
    this.#call?.cancel(reason);
  }

  #settle(outcome: Outcome, permit: Permit): void {
    this.#release();
    const repeatable = outcome.kind === 'failure' && (outcome.unseen === true || this.#request.row.replayable === true);
    if (!repeatable || outcome.failure.reason !== 'backend_session_lost' || !this.#again) {
      this.#sink.settle(outcome);
      return;
    }
    this.#again = false;
    this.#call = undefined;
    this.#reopen().then(
      ({ lane, release }) => {
        if (this.#cancelled) release();
        else this.begin(lane, permit, release);
      },
      (error: unknown) => {
        const failure = error instanceof Failure ? error : new Failure('internal_error', { cause: error });
        if (!this.#cancelled) this.#sink.settle({ kind: 'failure', failure });
      },
    );
  }
}
