/**
 * For backends that serve a principal only after a person has given consent at an authorization server. The gateway
 * asks the client to open the consent page, and makes the call again once consent is given. A client that cannot be
 * asked gets an error with the page's address.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-for-oauth-flows
 */

import { olderAsk } from '../../bridge/revision-compat.ts';
import { Failure } from '../../errors/failure.ts';
import type { CallRequest, CallSink } from '../../exchange/call.ts';
import { ownRequest } from '../../exchange/own-call.ts';
import type { Principal } from '../../identity/principal.ts';
import { missingFor } from '../../wire/capabilities.ts';
import { notificationBytes, type Raw } from '../../wire/compose.ts';
import type { Notification } from '../../wire/message.ts';
import { skimMessage } from '../../wire/skim.ts';
import { isObject } from '../../wire/values.ts';

/** The consents that people have still to give. */
export interface ConsentWaiter {
  /** The page of the open consent, while the principal has no account at the backend. Never rejects. */
  pendingPage(backend: string, principal: Principal): Promise<string | undefined>;
  /** Never rejects. Resolves soon after the signal is aborted. */
  waitFor(id: string, ms: number, signal: AbortSignal): Promise<'done' | Failure>;
}

/** A backend may want more scopes after the first consent. The limit stops a backend that is never satisfied. */
const CONSENTS = 3;

/** The page that a `consent_needed` failure names. */
export interface ConsentPage {
  readonly mode: 'url';
  readonly url: string;
  readonly elicitationId: string;
  readonly message: string;
}

/** Waits for the consents that one request needs. */
export class ConsentRounds {
  readonly #request: CallRequest;
  readonly #sink: CallSink;
  readonly #waiter: ConsentWaiter;
  readonly #askMs: number;
  /** Withdraws the server request that is open at the client. */
  #withdraw: (() => void) | undefined;
  #waiting: AbortController | undefined;
  #consents = 0;
  #cancelled = false;

  constructor(request: CallRequest, sink: CallSink, waiter: ConsentWaiter, askMs: number) {
    this.#request = request;
    this.#sink = sink;
    this.#waiter = waiter;
    this.#askMs = askMs;
  }

  /** The backend refused with `refusal`. Calls `again` once consent is given; otherwise settles. */
  ask(page: ConsentPage, refusal: Failure, again: () => void): void {
    const refuse = () => this.#settle(withPage(refusal, page));
    if (!this.#canAsk(page)) {
      refuse();
      return;
    }
    this.#consents += 1;
    const { row, message } = ownRequest('elicitation/create', page);
    this.#sink.ask({
      row,
      message,
      answer: (reply) => {
        this.#withdraw = undefined;
        if (this.#cancelled) return;
        const action = 'result' in reply ? actionOf(reply.result) : undefined;
        if (action === 'accept') this.#waitFor(page, again).catch((cause: unknown) => this.#broke(cause));
        else if (action === undefined) refuse();
        else this.#settle(new Failure('ask_declined'));
      },
      onWithdrawn: (listener) => {
        this.#withdraw = listener;
      },
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#withdraw?.();
    this.#waiting?.abort();
  }

  #canAsk(page: ConsentPage): boolean {
    const { row, client } = this.#request;
    const method = 'elicitation/create';
    return (
      row.mayAsk === true &&
      this.#consents < CONSENTS &&
      missingFor({ method, params: page }, client.capabilities) === undefined &&
      !(olderAsk(client.revision, method, page) instanceof Failure)
    );
  }

  /** The client has opened the page. The person's consent may still take a while. */
  async #waitFor(page: ConsentPage, again: () => void): Promise<void> {
    const { elicitationId } = page;
    this.#waiting = new AbortController();
    const waited = await this.#waiter.waitFor(elicitationId, this.#askMs, this.#waiting.signal);
    if (this.#cancelled) return;
    if (waited !== 'done') {
      this.#settle(withPage(waited, page));
      return;
    }
    const complete = notificationBytes('notifications/elicitation/complete', JSON.stringify({ elicitationId }));
    this.#sink.notify(skimMessage(complete) as Notification);
    again();
  }

  #broke(cause: unknown): void {
    if (!this.#cancelled) this.#settle(new Failure('internal_error', { cause }));
  }

  #settle(failure: Failure): void {
    this.#sink.settle({ kind: 'failure', failure });
  }
}

/** The consent page, where the failure is `consent_needed`. */
export function consentPage({ reason, data }: Failure): ConsentPage | undefined {
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
  const list = page.url.slice(0, page.url.lastIndexOf('/'));
  const message = isBare ? `${failure.message}: open ${page.url} (${list} lists all of them)` : failure.message;
  const data = { ...failure.data, url: page.url, elicitationId: page.elicitationId, elicitations: [page] };
  return new Failure(reason, { message, data, cause });
}

/** The same for a failure that happens before a call is made. */
export function toldWithPage(failure: Failure): Failure {
  const page = consentPage(failure);
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
