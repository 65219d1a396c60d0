/** Failures of backends, and of the gateway itself. */
import { type FailureRow, INTERNAL, row } from './row.ts';

export const backends = {
  // Backends.
  backend_unavailable: row(
    'backend',
    200,
    INTERNAL,
    'Backend unavailable',
    'The backend is down, cannot be reached, or was cut off.',
  ),
  backend_invalid: row(
    'backend',
    200,
    INTERNAL,
    'Backend gave an invalid answer',
    'The response of the backend cannot be used: it has no body, is not JSON-RPC, has an unknown result type, or holds a server request that is ambiguous.',
  ),
  backend_timeout: row(
    'backend',
    200,
    INTERNAL,
    'Backend timed out',
    'The backend was silent for longer than the limit, or took longer in all.',
  ),
  backend_busy: row(
    'backend',
    200,
    INTERNAL,
    'Backend busy',
    'All processes of the backend are in use and the queue is full.',
  ),
  backend_too_large: row('backend', 200, INTERNAL, 'Backend answer too large', 'The answer is over the limit.'),
  backend_session_lost: row(
    'backend',
    200,
    INTERNAL,
    'Backend lost its session',
    'The backend forgot its session while the request was running. It may have run; it was not sent twice.',
  ),
  backend_flooding: row(
    'backend',
    200,
    INTERNAL,
    'Backend ended for flooding',
    'The backend kept sending more messages that belong to no call than `limits.unsolicitedMessages` allows: its process ' +
      'or stream was ended. See what it sends (`log.level: debug`), and correct the backend, or raise the limit.',
  ),
  starting: row(
    'gateway',
    503,
    INTERNAL,
    'Starting',
    'The gateway listens already and is not ready to let requests in. Try again after `Retry-After`.',
  ),
  shutting_down: row('gateway', 503, INTERNAL, 'Shutting down', 'The gateway is stopping and takes no new requests.'),

  // The gateway itself.
  out_of_descriptors: row(
    'gateway',
    200,
    INTERNAL,
    'The gateway is out of file descriptors',
    'No backend is to blame: the process, or the machine, has no descriptor left for a connection or a process. Raise the limit (`ulimit -n`, `LimitNOFILE=`), or lower `limits.connectionsTotal`.',
  ),
  internal_error: row(
    'gateway',
    200,
    INTERNAL,
    'Internal error',
    'A fault in Bascule. `data.logId` finds the entry in its log.',
  ),
} as const satisfies Record<string, FailureRow>;
