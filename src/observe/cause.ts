/**
 * Explains to operators why a backend failed: in the log, at start-up and at `/readyz`. The explanation names hosts,
 * files and the last lines of a process, so it is never sent to a client, which gets only the message.
 */
import { Failure, type Reason } from '../errors/failure.ts';

/** Fits one line of a log. */
const CHARACTERS = 500;
/** Causes are nested a few levels deep. The limit also ends a cycle. */
const DEPTH = 8;

/** Undefined if there is nothing to add to the message. */
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

/** What can be done about it, if a failure in the chain of causes says so. */
export function cureText(failure: Failure): string | undefined {
  for (const at of chainFrom(failure)) if (at instanceof Failure && at.cure !== undefined) return at.cure;
  return undefined;
}

/** A failure, its cause, the cause of that, and so on. The first one that is not a `Failure` is the last. */
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

/** Members of a log entry, or of `/readyz`. */
export function explanationOf(failure: Failure): Explanation {
  const cause = causeText(failure);
  const cure = cureText(failure);
  return { reason: failure.reason, ...(cause && { cause }), ...(cure && { cure }) };
}

function textOf(cause: unknown): string | undefined {
  if (typeof cause === 'string') return cause;
  if (!(cause instanceof Error)) return undefined;
  // A host with several addresses: each was tried, and the error's own message says nothing.
  if (cause instanceof AggregateError) return cause.errors.map(textOf).join('; ');
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' && !cause.message.includes(code) ? `${code}: ${cause.message}` : cause.message;
}

/** For start-up: message, cause and reason in one line, the cure in the next. */
export function explained(failure: Failure): string {
  const { reason, cause, cure } = explanationOf(failure);
  const line = `${failure.message}${cause === undefined ? '' : `: ${cause}`} (${reason})`;
  return cure === undefined ? line : `${line}\n      ${cure}`;
}

/**
 * Masks likely secrets in text that we did not write, such as the last lines of a process before it ended. A heuristic:
 * it knows common spellings of credentials, and no secret that looks like a word.
 *
 * Strangers write this text, so the time must grow only with its length: where matches could begin at many places of
 * one run of characters, it is bounded how far each looks.
 */
const shapes: readonly { readonly find: RegExp; readonly by: string }[] = [
  // Credentials in a URL, and in its query.
  { find: /(\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/@]+@/gi, by: '$1***@' },
  { find: /([?&](?=[^=&?\s]*(?:key|token|secret|password|code|sig))[^=&?\s]*=)[^&\s]+/gi, by: '$1***' },
  { find: /\b(bearer|basic)\s+[\w.~+/=-]+/gi, by: '$1 ***' },
  // `API_KEY=...`, `"password": "..."`, `token: ...`
  {
    find: /((?:key|token|secret|passw(?:or)?d|authorization|credential)[\w-]{0,64}["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s,;}]+)/gi,
    by: '$1***',
  },
  // Prefixes of vendors' keys, JSON Web Tokens, and long runs that are not words.
  { find: /\b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat|AKIA)[-_]?[\w-]{12,}/g, by: '***' },
  { find: /\beyJ[\w-]{1,512}\.[\w-]+\.[\w-]*/g, by: '***' },
  { find: /\b(?=[\w+/-]{0,128}\d)(?=[\w+/-]{0,128}[A-Za-z])[\w+-]{32,}={0,2}/g, by: '***' },
];

export function masked(text: string): string {
  return shapes.reduce((shown, { find, by }) => shown.replace(find, by), text);
}
