/**
 * For backends that serve a principal only after a person has given consent at an authorization server. The gateway
 * asks the client to open the consent page, and makes the call again once consent is given. A client that cannot be
 * asked gets an error with the page's address.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-for-oauth-flows
 */

import type { StartCall } from '../../bridge/responder.ts';
import { olderAsk } from '../../bridge/revision-compat.ts';
import { Failure } from '../../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink, ServerRequestReply } from '../../exchange/call.ts';
import { ownRequest } from '../../exchange/own-call.ts';
import { missingFor } from '../../wire/capabilities.ts';
import { notificationBytes, type Raw } from '../../wire/compose.ts';
import type { Notification } from '../../wire/message.ts';
import { skimMessage } from '../../wire/skim.ts';
import { isObject } from '../../wire/values.ts';

/** Waits for a person's consent. */
export interface ConsentWaiter {
  /** Never rejects. Resolves soon after the signal is aborted. */
  waitFor(id: string, ms: number, signal: AbortSignal): Promise<'done' | Failure>;
}

/** A backend may want more scopes after the first consent. The limit stops a backend that is never satisfied. */
const CONSENTS = 3;

/** Returns `start` itself where no backend needs consent. */
export function withConsent(start: StartCall, { consenting, limits: { askMs } }: ConsentOptions): StartCall {
  if (consenting === undefined) return start;
  return (request, sink) => new ConsentCall(request, sink, { start, consenting, askMs }).begin();
}

interface ConsentOptions {
  readonly consenting: ConsentWaiter | undefined;
  readonly limits: { readonly askMs: number };
}

interface ConsentParts {
  readonly start: StartCall;
  readonly consenting: ConsentWaiter;
  readonly askMs: number;
}

/** The page that a `consent_needed` failure names. */
interface ConsentPage {
  readonly mode: 'url';
  readonly url: string;
  readonly elicitationId: string;
  readonly message: string;
}

class ConsentCall implements Call, CallSink {
  readonly #request: CallRequest;
  readonly #sink: CallSink;
  readonly #means: ConsentParts;
  #call: Call | undefined;
  #withdraw: (() => void) | undefined;
  /** The failure of the backend's latest refusal. */
  #refusal: Failure | undefined;
  #waiting: AbortController | undefined;
  /** The log level of the client's latest request, where a later one has taken the call up. */
  #heard: { readonly logLevel: string | undefined } | undefined;
  #consents = 0;
  #cancelled = false;

  constructor(request: CallRequest, sink: CallSink, means: ConsentParts) {
    this.#request = request;
    this.#sink = sink;
    this.#means = means;
  }

  begin(): this {
    const again = this.#consents > 0;
    this.#call = this.#means.start(again ? { ...this.#request, ...this.#heard, again } : this.#request, this);
    return this;
  }

  hear(logLevel: string | undefined): void {
    this.#heard = { logLevel };
    this.#call?.hear?.(logLevel);
  }

  cancel(reason?: string): void {
    this.#cancelled = true;
    this.#withdraw?.();
    this.#waiting?.abort();
    this.#call?.cancel(reason);
  }

  notify(notification: Notification): void {
    this.#sink.notify(notification);
  }

  ask(ask: Parameters<CallSink['ask']>[0]): void {
    this.#sink.ask(ask);
  }

  pause(retryMs: number | undefined): void {
    this.#sink.pause(retryMs);
  }

  settle(outcome: CallOutcome): void {
    const page = outcome.kind === 'failure' ? pageOf(outcome.failure) : undefined;
    if (outcome.kind !== 'failure' || page === undefined) {
      this.#sink.settle(outcome);
      return;
    }
    this.#refusal = outcome.failure;
    if (this.#canAsk(page)) this.#askFor(page);
    else this.#tell(page);
  }

  #canAsk(page: ConsentPage): boolean {
    const { row, client } = this.#request;
    const { method } = visit.row;
    return (
      row.mayAsk === true &&
      this.#consents < CONSENTS &&
      missingFor({ method, params: page }, client.capabilities) === undefined &&
      !(olderAsk(client.revision, method, page) instanceof Failure)
    );
  }

  #askFor(page: ConsentPage): void {
    this.#consents += 1;
    this.#call = undefined;
    const { row, message } = ownRequest('elicitation/create', page);
    this.#sink.ask({
      row,
      message,
      answer: (reply) => this.#answered(page, reply),
      onWithdrawn: (listener) => {
        this.#withdraw = listener;
      },
    });
  }

  #answered(page: ConsentPage, reply: ServerRequestReply): void {
    this.#withdraw = undefined;
    if (this.#cancelled) return;
    const action = 'result' in reply ? actionOf(reply.result) : undefined;
    if (action === 'accept') this.#goOn(page).catch((error: unknown) => this.#broke(error));
    else if (action === undefined) this.#tell(page);
    else this.#sink.settle({ kind: 'failure', failure: new Failure('ask_declined') });
  }

  /** The client has opened the page. The person's consent may still take a while. */
  async #goOn(page: ConsentPage): Promise<void> {
    const { consenting, askMs } = this.#means;
    const { elicitationId } = page;
    this.#waiting = new AbortController();
    const waited = await consenting.waitFor(elicitationId, askMs, this.#waiting.signal);
    if (this.#cancelled) return;
    if (waited !== 'done') {
      this.#sink.settle({ kind: 'failure', failure: withPage(waited, page) });
      return;
    }
    const complete = notificationBytes('notifications/elicitation/complete', JSON.stringify({ elicitationId }));
    this.#sink.notify(skimMessage(complete) as Notification);
    this.begin();
  }

  #broke(cause: unknown): void {
    if (!this.#cancelled) this.#sink.settle({ kind: 'failure', failure: new Failure('internal_error', { cause }) });
  }

  #tell(page: ConsentPage): void {
    this.#sink.settle({ kind: 'failure', failure: withPage(this.#refusal ?? new Failure('consent_needed'), page) });
  }
}

const visit = ownRequest('elicitation/create', { mode: 'url' });

/** The consent page, where the failure is `consent_needed`. */
function pageOf({ reason, data }: Failure): ConsentPage | undefined {
  const { url, elicitationId, backend } = data ?? {};
  if (reason !== 'consent_needed' || typeof url !== 'string' || typeof elicitationId !== 'string') return undefined;
  const message = `${typeof backend === 'string' ? backend : 'The server'} needs your consent. Open the page to give it.`;
  return { mode: 'url', url, elicitationId, message };
}

/** Adds the page to the failure: in the form that clients of 2025-11-25 know, and as plain members for all others. */
function withPage(failure: Failure, page: ConsentPage): Failure {
  const { reason, cause } = failure;
  // Clients show people the message, and seldom the data: put the address into the message, too.
  const isBare = reason === 'consent_needed' && !failure.message.includes(page.url);
  const message = isBare ? `${failure.message}: open ${page.url}` : failure.message;
  const data = { ...failure.data, url: page.url, elicitationId: page.elicitationId, elicitations: [page] };
  return new Failure(reason, { message, data, cause });
}

/** The same for a failure that happens before a call is made. */
export function toldWithPage(failure: Failure): Failure {
  const page = pageOf(failure);
  return page === undefined ? failure : withPage(failure, page);
}

function actionOf(result: Raw): string | undefined {
  try {
    const value: unknown = JSON.parse(typeof result === 'string' ? result : Buffer.from(result).toString('utf8'));
    return isObject(value) && typeof value.action === 'string' ? value.action : undefined;
  } catch {
    return undefined;
  }
}
