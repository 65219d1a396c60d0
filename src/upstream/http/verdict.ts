/** What an HTTP response without a message, or no response, means for the request. */
import { Failure, type Reason } from '../../errors/failure.ts';
import { type FailureKind, failureOfKind } from '../as-failure.ts';
import { outOfDescriptors } from '../descriptors.ts';

const TOO_MANY_REQUESTS = 429;
const REQUEST_TIMEOUT = 408;

export function failureOfStatus(status: number, namedSession: boolean): Failure {
  // 2025-11-25, basic/transports, "Session Management": a 404 means that the session ended.
  if (status === 404 && namedSession) return new Failure('backend_session_lost');
  if (status >= 300 && status < 400) {
    // Redirects are never followed: they would carry credentials and messages to an address that is not in the config.
    return new Failure('backend_invalid', {
      message: `Backend answered with a redirect (${status})`,
      cure: 'redirects are not followed: if you trust its target, write that address into `url`',
    });
  }
  const kind = refusals[status] ?? { why: `it answered HTTP ${status}`, cure: LOOK };
  const isDown = isPassing(status) || status === 401 || status === 403;
  return failureOfKind(isDown ? 'backend_unavailable' : 'backend_invalid', kind);
}

const LOOK = 'look at the log of the server, and check the path in `url`';

const refusals: Readonly<Record<number, FailureKind>> = {
  401: {
    why: 'it refuses the credentials of the gateway (HTTP 401)',
    cure: 'check the key or token under `headers`, or remove it if the server requires OAuth',
  },
  403: { why: 'it forbids the gateway access (HTTP 403)', cure: 'check what the key or account may do at the server' },
  404: {
    why: 'there is no server at this path (HTTP 404)',
    cure: 'check the path in `url`: most servers use `/mcp` or `/sse`',
  },
  429: { why: 'it limits the rate of requests (HTTP 429)', cure: 'wait, or ask for a higher limit at the server' },
  508: { why: 'it leads back to this gateway (HTTP 508)', cure: 'write the address of the server itself into `url`' },
};

/** A response that contains no answer to the request. */
export function noAnswer(why: string, cause?: unknown): Failure {
  const cure = 'check `url`: the server there may not be an MCP server';
  return failureOfKind('backend_invalid', { why, cure }, cause);
}

/** Whether the same request may succeed a little later. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === REQUEST_TIMEOUT || status === TOO_MANY_REQUESTS;
}

const reasons: Readonly<Record<string, Reason>> = {
  UND_ERR_HEADERS_OVERFLOW: 'backend_too_large',
  UND_ERR_HEADERS_TIMEOUT: 'backend_timeout',
  UND_ERR_BODY_TIMEOUT: 'backend_timeout',
  // A header, configured or our own, that cannot be sent.
  UND_ERR_INVALID_ARG: 'internal_error',
};

/** Maps an error of undici or the socket. */
export function failureOfError(cause: unknown): Failure {
  if (cause instanceof Failure) return cause;
  const full = outOfDescriptors(cause, 'connection');
  if (full !== undefined) return full;
  const { code, name } = (cause ?? {}) as { code?: unknown; name?: unknown };
  const known = typeof code === 'string' ? code : '';
  const otherwise: Reason = name === 'HTTPParserError' ? 'backend_invalid' : 'backend_unavailable';
  const kind = kinds[known] ?? (tls.test(known) ? untrusted : undefined);
  return failureOfKind(reasons[known] ?? otherwise, kind, cause);
}

const cut: FailureKind = {
  why: 'the connection was closed',
  cure: 'look at the log of the server: the server, or a proxy, closed the connection',
};
const late: FailureKind = {
  why: 'it did not accept the connection in time (`limits.connectMs`)',
  cure: 'check host and port in `url`, and whether a firewall blocks the connection',
};
const unreachable: FailureKind = {
  why: 'its network cannot be reached',
  cure: 'check the host in `url`, and the network of this machine',
};
const untrusted: FailureKind = {
  why: 'TLS failed',
  cure: 'check whether `url` needs `https` or `http`; for a private certificate authority, set NODE_EXTRA_CA_CERTS',
};

/** Clients get the class. Host, port and certificate are in the cause, which is for the log. */
const kinds: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: { why: 'connection refused', cure: 'start the server, or correct host and port in `url`' },
  ENOTFOUND: { why: 'its host name is unknown', cure: 'correct the host in `url`' },
  EAI_AGAIN: {
    why: 'the DNS lookup of its host name failed',
    cure: 'check the host in `url`, and the name servers of this machine',
  },
  ECONNRESET: cut,
  EPIPE: cut,
  UND_ERR_SOCKET: cut,
  ETIMEDOUT: late,
  UND_ERR_CONNECT_TIMEOUT: late,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
};

/** OpenSSL's names for certificates that do not verify, and Node's for failed handshakes. */
const tls = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|EPROTO)/;
