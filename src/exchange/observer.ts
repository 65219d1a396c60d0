/**
 * Ports of what watches the gateway at work: metrics, the request log, traces, the console. Each is told of a message
 * or call when it begins and when it ends. Observers return at once, never throw, and change nothing.
 */
import type { Failure } from '../errors/failure.ts';
import type { Pieces } from '../wire/compose.ts';
import type { Response } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import type { CallOutcome, CallRequest } from './call.ts';
import type { SentTrace } from './trace.ts';

/** How a client's message ended. */
export interface MessageEnding {
  /** `accepted`: a notification or a response, which is not answered. `asked`: input is required, a round follows. */
  readonly outcome: 'result' | 'error' | 'cancelled' | 'asked' | 'accepted';
  /** Set where the gateway itself failed the request. */
  readonly failure?: Failure | undefined;
  /** The response, where a backend or the gateway gave one: complete JSON-RPC, with the client's id. */
  readonly response?: Pieces | undefined;
  /** The backend's message that the response was made of, where there is one. */
  readonly from?: Response | undefined;
}

/** The client's message that a call is made for, as the observers of calls see it. */
export interface CallOrigin {
  /** Milliseconds that backends have taken for it so far, and the calls that took them. Kept by observe/metrics. */
  upstreamMs: number;
  upstreamCalls: number;
}

/** Is told of every message whose sender is authenticated: of a batch as a whole, and of each message in it. */
export interface MessageObserver<Context> {
  began(context: Context): void;
  /** A `subscriptions/listen` is acknowledged: its operation is over, and its stream goes on. */
  acknowledged?(context: Context): void;
  /** Called once for each message that began. */
  ended(context: Context, ending: MessageEnding): void;
}

/** A request to a backend, as observers see it: a client's, or one of the gateway itself, such as reading a list. */
export interface ObservedCall {
  readonly request: CallRequest;
  /** The JSON token of its id at the backend. */
  readonly id: string;
  /** On the clock of the gateway. */
  readonly startedAt: number;
  /** The backend's, as it was agreed on. */
  readonly revision: Revision | undefined;
  /** Absent where the call belongs to no trace. */
  readonly trace: SentTrace | undefined;
}

/** Is told of every request that is sent to one backend. */
export interface CallObserver {
  began(call: ObservedCall): void;
  /** The backend has acknowledged a `subscriptions/listen`: the operation is over, and its stream goes on. */
  acknowledged?(call: ObservedCall): void;
  /** Called once for each call that began. `outcome` is absent where the call was cancelled. */
  ended(call: ObservedCall, outcome: CallOutcome | undefined): void;
}
