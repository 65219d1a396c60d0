/**
 * A call on an upstream session from the pool. The session is released when the call is over. If the backend lost the
 * session, a new one is opened, once, for a request that may be repeated. A call that may have run is not repeated.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { UpstreamSession } from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import type { SessionLevel, StartRequest } from './session-level.ts';

/** An upstream session for one call, returned with `release`. */
export interface OpenedUpstream {
  readonly upstream: Pick<UpstreamSession, 'call' | 'discovery' | 'era' | 'hearing'>;
  /** Only for a session that has log messages. */
  readonly level: SessionLevel | undefined;
  release(): void;
}

export class PooledCall implements Call {
  readonly #request: CallRequest;
  readonly #sink: CallSink;
  readonly #permit: Permit;
  readonly #reopen: () => Promise<OpenedUpstream>;
  #opened: OpenedUpstream | undefined;
  #call: Call | undefined;
  #again = true;
  #cancelled = false;

  constructor(request: CallRequest, sink: CallSink, permit: Permit, reopen: () => Promise<OpenedUpstream>) {
    this.#request = request;
    this.#sink = sink;
    this.#permit = permit;
    this.#reopen = reopen;
  }

  begin(opened: OpenedUpstream): this {
    this.#opened = opened;
    const ready = opened.level?.want(this, this.#request.logLevel, this.#starter(opened));
    if (ready === undefined) this.#start(opened);
    else {
      void ready.then(() => {
        if (!this.#cancelled) this.#start(opened);
      });
    }
    return this;
  }

  hear(logLevel: string | undefined): void {
    const opened = this.#opened;
    if (opened !== undefined) void opened.level?.want(this, logLevel, this.#starter(opened));
  }

  cancel(reason?: string): void {
    this.#cancelled = true;
    this.#leave();
    this.#call?.cancel(reason);
  }

  #start({ upstream }: OpenedUpstream): void {
    this.#call = upstream.call(this.#permit, this.#request, {
      notify: (notification) => this.#sink.notify(notification),
      ask: (ask) => this.#sink.ask(ask),
      pause: (retryMs) => this.#sink.pause(retryMs),
      settle: (outcome) => this.#settle(outcome),
    });
  }

  #starter({ upstream }: OpenedUpstream): StartRequest {
    return (request, sink) => upstream.call(this.#permit, request, sink);
  }

  #leave(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    opened.level?.leave(this, this.#starter(opened));
    opened.release();
  }

  #settle(outcome: CallOutcome): void {
    this.#leave();
    const repeatable = outcome.kind === 'failure' && (outcome.unseen === true || this.#request.row.replayable === true);
    if (!repeatable || outcome.failure.reason !== 'backend_session_lost' || !this.#again) {
      this.#sink.settle(outcome);
      return;
    }
    this.#again = false;
    this.#call = undefined;
    this.#reopen().then(
      (opened) => {
        if (this.#cancelled) opened.release();
        else this.begin(opened);
      },
      (error: unknown) => {
        const failure = error instanceof Failure ? error : new Failure('internal_error', { cause: error });
        if (!this.#cancelled) this.#sink.settle({ kind: 'failure', failure });
      },
    );
  }
}
