/**
 * What happens around an upstream call, in one place for clients of both eras. On the way out, the outermost comes
 * first; what a backend says passes them from below, so that rules see the names that the client knows:
 *
 *   consent          asks a person to agree, where the backend demands it, and calls again   consent.ts
 *   reauthorize      authorizes later rounds of the same call                                reauthorize.ts
 *   response filter  keeps back what the client may not see, and what a backend may not ask  response-filter.ts
 *   shown entries    asks decision points outside which entries of a list the client may use ../decide-outside.ts
 *   overrides        gives the list of a single backend the form that the config wants      override-filter.ts
 *   client names     gives the client its own names back                                     catalog/name-resolver.ts
 *   tasks            the same for tasks and their results, which the response filter sees    task-results.ts
 *   task poll        calls again with tasks where a modern backend demands them, and polls   task-poll.ts
 *   task wait        makes a call as a task where its tool demands that, and waits for it    task-wait.ts
 *
 * One object does this for all rounds of a request, because nearly every call needs none of it: an interceptor that has
 * nothing to do costs a comparison.
 */
import type { CallStarter } from '../../bridge/responder.ts';
import type { Call, CallOutcome, CallRequest, CallSink, Retry, ServerRequest } from '../../exchange/call.ts';
import { LateCall } from '../../exchange/late-call.ts';
import type { Permit } from '../../policy/permit.ts';
import type { UpstreamLease } from '../../upstream/upstream-pool.ts';
import type { Notification } from '../../wire/message.ts';
import type { RequestContext } from '../context.ts';
import { filtersEntries, withShownEntries } from '../decide-outside.ts';
import type { StageServices } from '../services.ts';
import { ConsentRounds, consentPage } from './consent.ts';
import { withOverrides } from './override-filter.ts';
import { isLaterRound, reauthorize } from './reauthorize.ts';
import { filterAsk, filterNotification, filterOutcome } from './response-filter.ts';
import { needsPolling, polledCall } from './task-poll.ts';
import { taskOutcome } from './task-results.ts';

/** How calls are made for clients of one era. */
export interface EraCalls extends StageServices {
  /** Makes the call on an upstream session that is there. */
  callOn(context: RequestContext, upstream: UpstreamLease, permit: Permit, request: CallRequest, sink: CallSink): Call;
  /** Finds an upstream session on which the call can be made. Rejects with a Failure where there is none. */
  find(context: RequestContext, permit: Permit, request: CallRequest): Promise<FoundUpstream>;
  /** Translates a notification of the backend into the client's names. Returns undefined where it is not passed on. */
  translate?(context: RequestContext, notification: Notification): Notification | undefined;
  /** The same for a server request. */
  named?(context: RequestContext, ask: ServerRequest): ServerRequest;
}

export interface FoundUpstream {
  readonly upstream: UpstreamLease;
  /** The request, as this upstream session needs it. */
  readonly request: CallRequest;
}

export class InterceptedCall implements CallStarter, Call, CallSink {
  readonly #calls: EraCalls;
  readonly #context: RequestContext;
  /** For the first round. A session that was leased for one call is released with it, so later rounds find another. */
  #upstream: UpstreamLease | undefined;
  #request: CallRequest | undefined;
  #sink: CallSink | undefined;
  #call: Call | undefined;
  #consent: ConsentRounds | undefined;
  #isPolling = false;

  constructor(calls: EraCalls, context: RequestContext, upstream: UpstreamLease | undefined) {
    this.#calls = calls;
    this.#context = context;
    this.#upstream = upstream;
  }

  start(request: CallRequest, sink: CallSink): this {
    this.#request = request;
    this.#sink = sink;
    this.#consent = undefined;
    this.#isPolling = false;
    if (request.round === undefined) this.#call = this.#callBackend(request);
    else this.#beginAgain(request);
    return this;
  }

  /** A later round, or the same one again after consent. */
  #beginAgain(request: CallRequest): void {
    this.#call = isLaterRound(this.#calls, this.#context, request)
      ? reauthorize(this.#calls, this.#context, this, () => this.#callBackend(request))
      : this.#callBackend(request);
  }

  #callBackend(request: CallRequest): Call {
    const context = this.#context;
    const { permit } = context.authorization;
    const upstream = this.#upstream;
    if (upstream === undefined)
      return LateCall.after(
        this.#calls.find(context, permit, request),
        this,
        (found) => this.#calls.callOn(context, found.upstream, permit, found.request, this),
        (found) => found.upstream.release?.(),
      );
    // The session of a legacy client keeps its upstream session from round to round.
    if (context.session === undefined || upstream.release !== undefined) this.#upstream = undefined;
    return this.#calls.callOn(context, upstream, permit, request, this);
  }

  hear(logLevel: string | undefined): void {
    if (this.#request !== undefined) this.#request = { ...this.#request, logLevel };
    this.#call?.hear?.(logLevel);
  }

  /** Later rounds belong to the retry: its exchange records them, and its rules have allowed them. */
  continueAs({ exchange, authorization, trace }: Retry): void {
    this.#context.exchange = exchange;
    this.#context.authorization = authorization;
    if (this.#request !== undefined && trace !== undefined) this.#request = { ...this.#request, trace };
  }

  cancel(reason?: string): void {
    this.#consent?.cancel();
    this.#call?.cancel(reason);
  }

  notify(notification: Notification): void {
    const calls = this.#calls;
    const named = calls.translate === undefined ? notification : calls.translate(this.#context, notification);
    if (named !== undefined && filterNotification(calls.shared, this.#context, named)) this.#sink?.notify(named);
  }

  ask(ask: ServerRequest): void {
    if (!filterAsk(this.#calls.shared, this.#context, ask)) return;
    this.#sink?.ask(this.#calls.named?.(this.#context, ask) ?? ask);
  }

  pause(retryMs: number | undefined): void {
    this.#sink?.pause(retryMs);
  }

  settle(outcome: CallOutcome): void {
    if (outcome.kind === 'failure') {
      this.#failed(outcome);
      return;
    }
    const { target, row } = this.#context;
    if (outcome.kind === 'error' && this.#polls(outcome)) return;
    if (row.action === 'task' || (outcome.kind === 'result' && (outcome.type ?? outcome.progressToken) !== undefined)) {
      this.#sink?.settle(taskOutcome(this.#calls.shared, this.#context, outcome));
      return;
    }
    let named = outcome;
    if (outcome.kind === 'result' && target?.renamed !== undefined) {
      const message = target.renamed(outcome.message);
      if (message !== outcome.message) named = { ...outcome, message };
    }
    const filtered = filterOutcome(this.#calls.shared, this.#context, named);
    // Most calls are no lists: nothing more is entered for them.
    if (row.list === undefined) this.#sink?.settle(filtered);
    else if (filtersEntries(this.#context)) void this.#settleShown(filtered);
    else this.#settleList(filtered);
  }

  /** True where the call is made again, and waited for in the place of the client. */
  #polls(outcome: CallOutcome & { kind: 'error' }): boolean {
    const request = this.#request;
    if (this.#isPolling || request === undefined || !needsPolling(this.#context, outcome)) return false;
    this.#isPolling = true;
    this.#call = polledCall(this.#calls, this.#context, request, this);
    return true;
  }

  async #settleShown(outcome: CallOutcome): Promise<void> {
    const { backend } = this.#context.resolved;
    this.#settleList(await withShownEntries(this.#context, outcome, (name) => ({ backend, name })));
  }

  #settleList(outcome: CallOutcome): void {
    const { endpoint } = this.#context;
    const { lists } = this.#calls.shared;
    this.#sink?.settle(endpoint.overrides === undefined ? outcome : withOverrides(this.#context, lists, outcome));
  }

  #failed(outcome: CallOutcome & { kind: 'failure' }): void {
    const { consenting } = this.#context.generation;
    const { askMs } = this.#calls.shared.limits;
    const page = consenting && consentPage(outcome.failure);
    const [request, sink] = [this.#request, this.#sink];
    if (consenting === undefined || page === undefined || request === undefined || sink === undefined) {
      sink?.settle(outcome);
      return;
    }
    this.#call = undefined;
    this.#consent ??= new ConsentRounds(request, sink, consenting, askMs);
    this.#consent.ask(page, outcome.failure, () => this.#beginAgain({ ...(this.#request ?? request), again: true }));
  }
}
