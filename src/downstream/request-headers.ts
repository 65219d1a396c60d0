/** Headers of a request as the gateway reads them. A header that came several times is not read. */
import type { IncomingMessage } from 'node:http';
import type { Arrival, HeaderReader } from '../exchange/arrival.ts';
import { newRequestId } from './request-id.ts';

const PARAM_PREFIX = 'mcp-param-';

export function headersOf(req: IncomingMessage): HeaderReader {
  return (name) => {
    const value = req.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
}

/** Undefined where there are none. */
export function paramHeadersOf({ headers }: IncomingMessage): Arrival['paramHeaders'] {
  let found: Record<string, string> | undefined;
  for (const name in headers) {
    const value = name.startsWith(PARAM_PREFIX) ? headers[name] : undefined;
    if (typeof value !== 'string') continue;
    found ??= {};
    found[name] = value;
  }
  return found;
}

/** Visible ASCII: nothing that could end a header or a line of the log. */
const sane = /^[\x21-\x7e]{1,128}$/;

/**
 * `X-Request-Id`: the name of one HTTP request in the log, in audit records and in the response. A client's own id is
 * kept where it is safe to repeat; otherwise it is replaced. Where the client sends none, one is made only for the
 * request log: nothing else would use it.
 */
export function requestIdOf({ headers }: IncomingMessage, isWanted: boolean): string | undefined {
  const given = headers['x-request-id'];
  if (given === undefined) return isWanted ? newRequestId() : undefined;
  return typeof given === 'string' && sane.test(given) ? given : newRequestId();
}
