/**
 * `X-Request-Id`: the name of one HTTP request in the log, in audit records and in the response. A client's own id is
 * kept where it is safe to repeat; otherwise it is replaced. Where the client sends none, one is made only for the
 * request log: nothing else would use it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Visible ASCII: nothing that could end a header or a line of the log. */
const sane = /^[\x21-\x7e]{1,128}$/;

export function requestIdOf({ headers }: IncomingMessage, isWanted: boolean): string | undefined {
  const given = headers['x-request-id'];
  if (given === undefined) return isWanted ? randomUUID() : undefined;
  return typeof given === 'string' && sane.test(given) ? given : randomUUID();
}
