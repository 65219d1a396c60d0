/** A call on a legacy session. */
import { Failure } from '../errors/failure.ts';
import type { CallOutcome } from '../exchange/call.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import { createdTaskId } from '../wire/tasks.ts';
import { idIn, member } from '../wire/values.ts';
import type { HttpFacts } from './channel.ts';
import { codeOf, METHOD_NOT_FOUND } from './codes.ts';
import { cancelledBytes } from './envelope.ts';
import type { LegacyUpstreamSession } from './legacy.ts';
import type { Reception } from './reception.ts';
import { RunningCall } from './running.ts';

export class LegacyCall extends RunningCall<LegacyUpstreamSession> {
  override answered(message: Response, http: HttpFacts | undefined): void {
    // A response with our id comes from the session itself.
    if (message.id !== undefined || !this.#isDoubtful(http)) super.answered(message, http);
    else void this.#checked(http).then((facts) => super.answered(message, facts));
  }

  override failed(failure: Failure, http: HttpFacts | undefined): void {
    if (!this.#isDoubtful(http)) super.failed(failure, http);
    else void this.#checked(http).then((facts) => super.failed(failure, facts));
  }

  protected override understand(message: Notification | Request): Reception {
    if (message.kind === 'request') return this.host.messages.asked(message, this);
    return message.method === 'notifications/cancelled' ? this.host.messages.withdrew(message) : this.notify(message);
  }

  /** Progress of a task goes on after the call that made it, on whatever stream is open. */
  protected override foreign(message: Notification | Request): Reception {
    const token = idIn(message, 'progressToken');
    if (message.kind === 'request' || token === undefined || !this.host.messages.isOfTask(token.key))
      return super.foreign(message);
    return this.request.row.name === 'taskId' ? this.notify(message) : this.host.messages.stray(message);
  }

  protected override judge(message: Response, http: HttpFacts | undefined): CallOutcome {
    if (message.kind === 'result') {
      if (this.request.row.action === 'subscribe') this.host.standalone.subscribed(this.request);
      if (this.request.task === undefined) {
        const isWhole = this.request.row.action !== 'call' || member(message.result, 'content') !== undefined;
        if (isWhole || createdTaskId(message) === undefined) return { kind: 'result', message, vocabulary: 'legacy' };
        // The client could not reach it, and the backend's id must not get out.
        const told = 'The backend made a task of a call that did not ask for one';
        return { kind: 'failure', failure: new Failure('backend_invalid', { message: told }) };
      }
      this.host.messages.madeTask(this.key);
      return { kind: 'result', message, vocabulary: 'legacy', progressToken: this.key };
    }
    // Some servers answer an unknown method with 404.
    if (this.#isGone(http) && codeOf(message) !== METHOD_NOT_FOUND) {
      const failure = this.#loseSession(new Failure('backend_session_lost'));
      return { kind: 'failure', failure, unseen: this.unseen };
    }
    return { kind: 'error', message, vocabulary: 'legacy' };
  }

  protected override judgeFailure(failure: Failure, http: HttpFacts | undefined): Failure {
    if (!this.host.hasSession) return failure;
    const gone = this.#isGone(http);
    if (failure.reason === 'backend_session_lost') return this.#loseSession(failure);
    return gone ? this.#loseSession(new Failure('backend_session_lost', { cause: failure })) : failure;
  }

  /**
   * In this era a closed stream is no cancellation, so we must send one. Servers leave the stream open afterwards, so
   * we close it as well.
   */
  protected override recall(reason: string | undefined): void {
    this.host.post(cancelledBytes(this.id, reason), 'notifications/cancelled');
  }

  /**
   * 2025-11-25, basic/transports#session-management: a 404 to a request with a session id means that the session is
   * gone. The backend has not processed this request. A request that loses its session later may have been processed.
   */
  #isGone(http: HttpFacts | undefined): boolean {
    this.unseen = http?.status === 404 && this.host.hasSession;
    return this.unseen;
  }

  /** The backend may have forgotten the session (`LegacyUpstreamSession.isKnown`). */
  #isDoubtful(http: HttpFacts | undefined): http is HttpFacts {
    return http?.status === 400 && this.host.hasSession;
  }

  /** As the backend should have answered. */
  async #checked(http: HttpFacts): Promise<HttpFacts> {
    return (await this.host.isKnown()) ? http : { ...http, status: 404 };
  }

  /** The other calls in flight lose the session as well; they learn of it after this one. */
  #loseSession(failure: Failure): Failure {
    queueMicrotask(() => this.host.lost(failure));
    return failure;
  }
}
