/** What an HTTP answer without a message in it, or none at all, means for the request. */
import { Failure, type Reason } from '../../errors.ts';
import { outOfDescriptors } from '../descriptors.ts';

const TOO_MANY_REQUESTS = 429;
const REQUEST_TIMEOUT = 408;

export function failureOfStatus(status: number, namedSession: boolean): Failure {
  // 2025-11-25, basic/transports, "Session Management": a 404 means that the session ended.
  if (status === 404 && namedSession) return new Failure('backend_session_lost');
  if (status >= 300 && status < 400) {
    // Never followed: it would carry credentials and messages to where the configuration did not send them.
    return new Failure('backend_invalid', { message: `Backend answered with a redirect (${status})` });
  }
  return new Failure(reasonOfStatus(status), { cause: new Error(`HTTP status ${status}`) });
}

function reasonOfStatus(status: number): Reason {
  const isDown =
    status >= 500 || status === 401 || status === 403 || status === REQUEST_TIMEOUT || status === TOO_MANY_REQUESTS;
  return isDown ? 'backend_unavailable' : 'backend_invalid';
}

/** Whether the same request may fare better a little later. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === REQUEST_TIMEOUT || status === TOO_MANY_REQUESTS;
}

const reasons: Readonly<Record<string, Reason>> = {
  UND_ERR_HEADERS_OVERFLOW: 'backend_too_large',
  UND_ERR_HEADERS_TIMEOUT: 'backend_timeout',
  UND_ERR_BODY_TIMEOUT: 'backend_timeout',
  // A header that we were told to send, or made, cannot be sent.
  UND_ERR_INVALID_ARG: 'internal_error',
};

/** What undici or the socket reports. */
export function failureOfError(cause: unknown): Failure {
  if (cause instanceof Failure) return cause;
  const full = outOfDescriptors(cause, 'connection');
  if (full !== undefined) return full;
  const { code, name } = cause as { code?: unknown; name?: unknown };
  const known = typeof code === 'string' ? reasons[code] : undefined;
  const otherwise: Reason = name === 'HTTPParserError' ? 'backend_invalid' : 'backend_unavailable';
  return new Failure(known ?? otherwise, { cause });
}
