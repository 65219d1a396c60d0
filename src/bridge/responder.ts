/** What the two client sides share: a drive serves one exchange from its first call to its settlement. */

import type { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { withoutInvalidTools } from '../exchange/tool-headers.ts';
import type { Warn } from '../observe/ports.ts';
import type { MethodRow } from '../wire/methods.ts';

/** Starts one call on the lane that was chosen for the exchange, under the permit that was given for it. */
export type StartCall = (request: CallRequest, sink: CallSink) => Call;

export interface DriveLimits {
  /** Rounds of `input_required` in one call. */
  readonly rounds: number;
  /** All questions of a round together, and all answers to them. */
  readonly roundBytes: number;
}

/** Turns an unexpected exception into a failure that may be told, and keeps its text for the log. */
export type Fault = (error: unknown) => Failure;

/** The outcome as any client may see it: a tool whose header annotations are invalid is not offered, and somebody is told. */
export function screened(outcome: CallOutcome, row: MethodRow, warn: Warn): CallOutcome {
  if (outcome.kind !== 'result' || row.list !== 'tools' || outcome.screened === true) return outcome;
  const message = withoutInvalidTools(outcome.message, (tool, why) =>
    warn('a tool was left out: its x-mcp-header is invalid', { tool, why }),
  );
  return { ...outcome, message };
}

/** Whatever a backend sent, its exchange is settled: an exception in our own code answers it too. */
export function attempt(exchange: Exchange | undefined, fault: Fault, action: () => void): void {
  try {
    action();
  } catch (error) {
    exchange?.fail(fault(error));
  }
}
