/** What the responders of both eras share: a responder serves one exchange from its first call to its settlement. */

import type { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import { withoutInvalidSkills } from '../exchange/screened-skills.ts';
import { withoutInvalidTools } from '../exchange/tool-headers.ts';
import type { Warn } from '../observe/ports.ts';
import type { MethodRow } from '../wire/methods.ts';
import { withoutExecutions } from '../wire/tasks.ts';

/** Starts the calls of one exchange, one for each round. */
export interface CallStarter {
  start(request: CallRequest, sink: CallSink): Call;
}

export interface ResponderLimits {
  /** Limit of `input_required` rounds in one call. */
  readonly rounds: number;
  /** Limit of all server requests of a round together, and of all answers to them. */
  readonly roundBytes: number;
}

/** Turns an unexpected exception into a failure that clients may see; its text goes to the log. */
export type Fault = (error: unknown) => Failure;

/** A list as any client may see it: tools with invalid header annotations and invalid skills are left out. */
export function screened({ list }: MethodRow, outcome: CallOutcome, warn: Warn): CallOutcome {
  if (outcome.kind !== 'result' || outcome.screened === true) return outcome;
  if (list === 'skills') {
    const message = withoutInvalidSkills(outcome.message, (why, skill) =>
      warn('a skill was left out: it is invalid', { skill, why }),
    );
    return { ...outcome, message };
  }
  if (list !== 'tools') return outcome;
  const message = withoutInvalidTools(outcome.message, (tool, why) =>
    warn('a tool was left out: its x-mcp-header is invalid', { tool, why }),
  );
  return { ...outcome, message };
}

/** A list for clients that cannot make calls as tasks of 2025-11-25. */
export function withoutTasks(outcome: CallOutcome): CallOutcome {
  if (outcome.kind !== 'result') return outcome;
  const message = withoutExecutions(outcome.message);
  return message === outcome.message ? outcome : { ...outcome, message };
}
