/**
 * Why a backend failed, for the people who run the gateway: in the log, in the lines at start-up and at `/readyz`. It names
 * hosts, files and the last lines of a process, so it never goes to a client, who is told the class in the message.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { masked } from './mask.ts';

/** One line of a log. */
const CHARACTERS = 500;
/** Causes are nested a few deep; a cycle must not hang us. */
const DEPTH = 8;

/** Undefined where there is nothing to add to the message. */
function causeText(failure: Failure): string | undefined {
  let text: string | undefined;
  for (const at of chainFrom(failure.cause)) {
    if (!(at instanceof Failure)) text = textOf(at);
    else if (at.message !== failure.message) text = at.message;
  }
  if (text === undefined || text === '') return undefined;
  const line = masked(text).replace(/\s*\n\s*/g, ' | ');
  return line.length > CHARACTERS ? `${line.slice(0, CHARACTERS)}...` : line;
}

/** What can be done about it, where somebody along the chain of causes knows. */
export function cureText(failure: Failure): string | undefined {
  for (const at of chainFrom(failure)) if (at instanceof Failure && at.cure !== undefined) return at.cure;
  return undefined;
}

/** A failure, its cause, the cause of that, and so on; what is no failure of ours is the last. */
function* chainFrom(first: unknown): Generator<unknown> {
  let at = first;
  for (let depth = 0; at !== undefined && depth < DEPTH; depth++) {
    yield at;
    at = at instanceof Failure ? at.cause : undefined;
  }
}

export interface Explanation {
  readonly reason: Reason;
  readonly cause?: string;
  readonly cure?: string;
}

/** As members of a log entry, or of `/readyz`. */
export function explanationOf(failure: Failure): Explanation {
  const cause = causeText(failure);
  const cure = cureText(failure);
  return { reason: failure.reason, ...(cause && { cause }), ...(cure && { cure }) };
}

function textOf(cause: unknown): string | undefined {
  if (typeof cause === 'string') return cause;
  if (!(cause instanceof Error)) return undefined;
  // A host with several addresses: each was tried, and the sum says nothing.
  if (cause instanceof AggregateError) return cause.errors.map(textOf).join('; ');
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' && !cause.message.includes(code) ? `${code}: ${cause.message}` : cause.message;
}

/** For the lines at start-up: message, cause and reason in one, the cure in the next. */
export function explained(failure: Failure): string {
  const { reason, cause, cure } = explanationOf(failure);
  const line = `${failure.message}${cause === undefined ? '' : `: ${cause}`} (${reason})`;
  return cure === undefined ? line : `${line}\n      ${cure}`;
}
