/** Failures of server requests. */
import { type FailureRow, INTERNAL, INVALID_REQUEST, row } from './row.ts';

export const asks = {
  ask_not_supported: row(
    'client',
    200,
    INVALID_REQUEST,
    'The client cannot answer this',
    'A backend asked for something that the client did not declare, or at a moment when nobody can answer.',
  ),
  ask_timeout: row(
    'client',
    200,
    INTERNAL,
    'The client did not answer in time',
    'An ask was out for longer than the limit.',
  ),
  ask_failed: row(
    'client',
    200,
    INTERNAL,
    'The client answered with an error',
    'An ask that the call cannot go on without was answered with an error.',
  ),
  ask_declined: row(
    'client',
    200,
    INTERNAL,
    'The person declined what the backend needs',
    'A backend cannot begin before a page was visited, the person declined, and the backend still cannot begin.',
  ),
  revision_too_old: row(
    'client',
    200,
    INVALID_REQUEST,
    'The client’s revision does not have this',
    'A backend needs something that is younger than the revision which the client speaks; `data` has what it is, since when there is such a thing, and the client’s revision.',
  ),
  too_many_asks: row(
    'backend',
    200,
    INTERNAL,
    'Too many questions at once',
    'A backend has more unanswered asks than the limit allows.',
  ),
  too_many_rounds: row(
    'backend',
    200,
    INTERNAL,
    'Too many rounds of input',
    'A backend keeps asking for input beyond the limit.',
  ),
  round_too_large: row(
    'backend',
    200,
    INTERNAL,
    'Too many bytes in one round of input',
    'The questions of one round, or the answers to them, are over the limit.',
  ),
  too_many_parked: row(
    'client',
    200,
    INTERNAL,
    'Too many calls wait for input',
    'As many calls as the limit allows wait for their clients’ answers.',
  ),
} as const satisfies Record<string, FailureRow>;
