/** What an HTTP answer without a message in it, or none at all, means for the request. */
import { Failure, failures, type Reason } from '../../errors.ts';
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
  const reason = reasonOfStatus(status);
  const why = refusals[status] ?? `it answered HTTP ${status}`;
  return new Failure(reason, { message: `${failures[reason].message}: ${why}` });
}

const refusals: Readonly<Record<number, string>> = {
  401: 'it refuses the credentials of the gateway (HTTP 401)',
  403: 'it forbids the gateway access (HTTP 403)',
  404: 'it has nothing at this address (HTTP 404)',
  508: 'it leads back to this gateway (HTTP 508)',
  429: 'it limits the rate of requests (HTTP 429)',
};

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
  const reason = known ?? otherwise;
  const why = typeof code === 'string' ? classOf(code) : undefined;
  return new Failure(reason, { cause, ...(why && { message: `${failures[reason].message}: ${why}` }) });
}

/** Clients are told the class; host, port and certificate are in the cause, which is for the log. */
const classes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up at the moment',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ETIMEDOUT: 'it cannot be connected to in time (`limits.connectMs`)',
  UND_ERR_CONNECT_TIMEOUT: 'it cannot be connected to in time (`limits.connectMs`)',
  EHOSTUNREACH: 'its network cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  EMFILE: 'the gateway is out of file descriptors',
};

/** OpenSSL's names for certificates that do not verify, and node's for handshakes that fail. */
const tls = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|EPROTO)/;

function classOf(code: string): string | undefined {
  return classes[code] ?? (tls.test(code) ? 'TLS failed' : undefined);
}
