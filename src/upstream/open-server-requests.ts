/**
 * The open server requests of one legacy upstream session. Each is answered once, under the backend's own id, or
 * withdrawn. None stays unanswered while the session lives.
 */
import { Failure } from '../errors/failure.ts';
import type { ServerRequest, ServerRequestReply } from '../exchange/call.ts';
import type { ReceivedAsk } from '../exchange/trace.ts';
import { concat, errorBytes, resultBytes } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { asFailure } from './as-failure.ts';
import type { BackendNotes } from './channel.ts';
import type { CallEnding, RunningCall } from './running.ts';

/** The call that caused a server request. */
type AskedCall = Pick<RunningCall, 'asking' | 'touch' | 'trace'>;

/** Where a server request goes. `guessed`: the call was assigned by timing alone. */
export interface AskTarget {
  readonly call: AskedCall | undefined;
  readonly guessed: boolean;
  put(ask: ServerRequest): void;
}

export interface OpenServerRequestsOptions {
  /** Limit of open server requests on one session. */
  readonly asksPerSession: number;
  readonly notes: BackendNotes;
  /** Sends a response to the backend. Never throws. */
  send(answer: Uint8Array): void;
  /** Receives server requests that belong to no call. */
  orphaned(ask: ServerRequest): void;
}

const INTERNAL = -32603;

/** The client was not asked, because it could not have answered. */
function isRefusal({ reason }: Failure): boolean {
  return reason === 'ask_not_supported' || reason === 'revision_too_old';
}

/** The codes that clients use for a server request without the capability for it. */
const refusals: Readonly<Record<string, number>> = {
  'elicitation/create': -32602,
  'roots/list': -32601,
  'sampling/createMessage': -32600,
};

export class OpenServerRequests {
  readonly #options: OpenServerRequestsOptions;
  readonly #open = new Map<string, OpenAsk>();

  constructor(options: OpenServerRequestsOptions) {
    this.#options = options;
  }

  put(message: Request, row: MethodRow, target: AskTarget): void {
    const { asksPerSession, notes, send } = this.#options;
    if (this.#open.has(message.id.key)) {
      notes.odd('duplicate_ask', row.method);
      return;
    }
    if (this.#open.size >= asksPerSession) {
      send(replyBytes(message, { failure: new Failure('too_many_asks') }));
      return;
    }
    const ask = new OpenAsk(message, row, target, notes, (reply) => this.#answer(ask, reply));
    this.#open.set(message.id.key, ask);
    if (target.call !== undefined) target.call.asking += 1;
    try {
      target.put(ask);
    } catch (cause) {
      const failure = asFailure(cause);
      // What a backend sent wrongly is no fault of ours, and must not fill the log.
      if (failure.reason === 'internal_error') notes.odd('fault', `putting ${row.method}`, cause);
      ask.answer({ failure });
    }
  }

  /** The backend withdraws a server request. */
  withdraw(key: string): void {
    const ask = this.#open.get(key);
    if (ask !== undefined) this.#close(ask)?.withdrawn();
  }

  /**
   * A call is over. Its server requests are withdrawn, and the backend gets an error for each, in case it still waits.
   * If the backend completed the call, a server request that was only guessed to belong to it belongs elsewhere, and
   * stays open: where a client has it already, it stays there; otherwise it goes to the session.
   */
  callEnded(call: AskedCall, how: CallEnding): void {
    if (call.asking === 0) return;
    for (const ask of [...this.#open.values()]) {
      if (ask.target.call !== call) continue;
      const stays = how === 'settled' && ask.target.guessed;
      if (stays && ask.isOut) {
        call.asking -= 1;
        ask.target = { ...ask.target, call: undefined, guessed: false };
        continue;
      }
      this.#close(ask)?.withdrawn();
      if (stays) {
        const { orphaned } = this.#options;
        this.put(ask.message, ask.row, { call: undefined, guessed: false, put: orphaned });
      } else {
        const failure = new Failure('ask_failed', { message: 'The call that the server request belongs to has ended' });
        this.#options.send(replyBytes(ask.message, { failure }));
      }
    }
  }

  /** The session is over: the backend can get no more answers. */
  close(): void {
    for (const ask of [...this.#open.values()]) this.#close(ask)?.withdrawn();
  }

  #answer(ask: OpenAsk, reply: ServerRequestReply): void {
    if (this.#close(ask, reply) === undefined) return;
    this.#options.send(replyBytes(ask.message, reply));
    // The backend continues: the idle time counts from now.
    ask.target.call?.touch();
  }

  /** Undefined where it was closed already. */
  #close(ask: OpenAsk, reply?: ServerRequestReply): OpenAsk | undefined {
    const key = ask.message.id.key;
    if (this.#open.get(key) !== ask) return undefined;
    this.#open.delete(key);
    if (ask.target.call !== undefined) ask.target.call.asking -= 1;
    ask.trace?.ended(reply);
    return ask;
  }
}

class OpenAsk implements ServerRequest {
  readonly message: Request;
  readonly row: MethodRow;
  readonly trace: ReceivedAsk | undefined;
  readonly answer: (reply: ServerRequestReply) => void;
  target: AskTarget;
  /** Whether a client has received it. */
  isOut = false;
  readonly #notes: BackendNotes;
  #withdrawn = false;
  #listeners: (() => void)[] = [];

  constructor(
    message: Request,
    row: MethodRow,
    target: AskTarget,
    notes: BackendNotes,
    answer: (reply: ServerRequestReply) => void,
  ) {
    this.#notes = notes;
    this.message = message;
    this.row = row;
    this.target = target;
    this.trace = target.call?.trace && notes.tracer?.asked(target.call.trace, message);
    this.answer = answer;
  }

  handedOver(): void {
    this.isOut = true;
  }

  onWithdrawn(listener: () => void): void {
    if (this.#withdrawn) listener();
    else this.#listeners.push(listener);
  }

  withdrawn(): void {
    this.#withdrawn = true;
    for (const listener of this.#listeners.splice(0)) {
      try {
        listener();
      } catch (cause) {
        this.#notes.odd('fault', `taking back ${this.row.method}`, cause);
      }
    }
  }
}

function replyBytes({ id, method }: Request, reply: ServerRequestReply): Uint8Array {
  if ('result' in reply) return resultBytes(id.raw, reply.result);
  if ('error' in reply) return concat([`{"jsonrpc":"2.0","id":${id.raw},"error":`, reply.error, '}']);
  const { failure } = reply;
  // An elicitation form that is not allowed is the backend's mistake: the error names the reason.
  const mistaken = failure.reason === 'invalid_params' ? failure.row.legacy : undefined;
  const refused = isRefusal(failure) ? refusals[method] : mistaken;
  return errorBytes(id.raw, {
    code: refused ?? INTERNAL,
    message: failure.reason === 'internal_error' ? failure.row.message : failure.message,
    data: JSON.stringify({ ...failure.data, reason: failure.reason }),
  });
}
