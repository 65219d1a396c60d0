/** A call on a legacy session. */
import { Failure } from '../errors/failure.ts';
import type { CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import { cancelledBytes } from './cancelled.ts';
import type { HttpFacts, Reception } from './channel.ts';
import { codeOf, METHOD_NOT_FOUND } from './codes.ts';
import { type CallHost, RunningCall } from './running.ts';

/** What a legacy call needs of its session. */
export interface LegacyCallHost extends CallHost {
  readonly hasSession: boolean;
  post(message: Uint8Array, what: string): void;
  asked(message: Request, call: LegacyCall): Reception;
  withdrew(message: Notification): void;
  lost(failure: Failure): void;
  /** The backend did what it was asked to. */
  done(request: CallRequest): void;
}

export class LegacyCall extends RunningCall {
  readonly #session: LegacyCallHost;

  constructor(session: LegacyCallHost, request: CallRequest, sink: CallSink, id: string, holder: string) {
    super(session, request, sink, id, holder);
    this.#session = session;
  }

  protected override understand(message: Notification | Request): Reception {
    if (message.kind === 'request') return this.#session.asked(message, this);
    if (message.method !== 'notifications/cancelled') return this.notify(message);
    this.#session.withdrew(message);
    return 'none';
  }

  protected override judge(message: Response, http: HttpFacts | undefined): CallOutcome {
    if (message.kind === 'result') {
      if (this.request.row.action === 'subscribe') this.#session.done(this.request);
      return { kind: 'result', message, vocabulary: 'legacy' };
    }
    // Some servers say 404 to a method that they do not have.
    if (this.#isGone(http) && codeOf(message) !== METHOD_NOT_FOUND) {
      const failure = this.#loseSession(new Failure('backend_session_lost'));
      return { kind: 'failure', failure, unseen: this.unseen };
    }
    return { kind: 'error', message, vocabulary: 'legacy' };
  }

  protected override judgeFailure(failure: Failure, http: HttpFacts | undefined): Failure {
    if (!this.#session.hasSession) return failure;
    const gone = this.#isGone(http);
    if (failure.reason === 'backend_session_lost') return this.#loseSession(failure);
    return gone ? this.#loseSession(new Failure('backend_session_lost', { cause: failure })) : failure;
  }

  /** A dropped stream is no cancellation in this era; it must be said. Servers leave the stream open afterwards, so it is closed, too. */
  protected override recall(reason: string | undefined): void {
    this.#session.post(cancelledBytes(this.id, reason), 'notifications/cancelled');
  }

  /**
   * 2025-11-25, basic/transports#session-management: a 404 to a request that named its session means that there is none. The
   * request was not looked at; where the session is lost later, while the answer was on its way, it may have been done.
   */
  #isGone(http: HttpFacts | undefined): boolean {
    this.unseen = http?.status === 404 && this.#session.hasSession;
    return this.unseen;
  }

  /** The others in flight have lost it, too. They hear it after this one. */
  #loseSession(failure: Failure): Failure {
    queueMicrotask(() => this.#session.lost(failure));
    return failure;
  }
}
