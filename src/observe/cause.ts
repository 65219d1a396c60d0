/**
 * Why a backend failed, for the people who run the gateway: in the log, in the lines at start-up and at `/readyz`. It names
 * hosts, files and the last lines of a process, so it never goes to a client, who is told the class in the message.
 */
import { Failure } from '../errors.ts';
import { masked } from './mask.ts';

/** One line of a log. */
const CHARACTERS = 500;
/** Causes are nested a few deep; a cycle must not hang us. */
const DEPTH = 8;

/** Undefined where there is nothing to add to the message. */
export function causeText(failure: Failure): string | undefined {
  let text: string | undefined;
  let at: unknown = failure.cause;
  for (let depth = 0; at !== undefined && depth < DEPTH; depth++) {
    if (!(at instanceof Failure)) {
      text = textOf(at);
      break;
    }
    if (at.message !== failure.message) text = at.message;
    at = at.cause;
  }
  if (text === undefined || text === '') return undefined;
  const line = masked(text).replace(/\s*\n\s*/g, ' | ');
  return line.length > CHARACTERS ? `${line.slice(0, CHARACTERS)}...` : line;
}

/** What can be done about it, where somebody along the chain of causes knows. */
export function cureText(failure: Failure): string | undefined {
  let at: unknown = failure;
  for (let depth = 0; at instanceof Failure && depth < DEPTH; depth++) {
    if (at.cure !== undefined) return at.cure;
    at = at.cause;
  }
  return undefined;
}

function textOf(cause: unknown): string | undefined {
  if (typeof cause === 'string') return cause;
  if (!(cause instanceof Error)) return undefined;
  // A host with several addresses: each was tried, and the sum says nothing.
  if (cause instanceof AggregateError) return cause.errors.map(textOf).join('; ');
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' && !cause.message.includes(code) ? `${code}: ${cause.message}` : cause.message;
}

/** Message, cause and reason in one line, the cure in the next. */
export function explained(failure: Failure): string {
  const cause = causeText(failure);
  const cure = cureText(failure);
  const line = `${failure.message}${cause === undefined ? '' : `: ${cause}`} (${failure.reason})`;
  return cure === undefined ? line : `${line}\n      ${cure}`;
}
