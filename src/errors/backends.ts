/** Failures of backends, and of the gateway itself. */
import { INTERNAL, rows } from './row.ts';

export const backends = rows(
  { blame: 'backend', status: 200, code: INTERNAL },
  {
    // Backends.
    backend_unavailable: {
      message: 'Backend unavailable',
      when: 'The backend is down, cannot be reached, or was cut off.',
    },
    backend_invalid: {
      message: 'Backend sent an invalid response',
      when: 'The response of the backend cannot be used: it has no body, is not JSON-RPC, has an unknown result type, or holds a server request that is ambiguous.',
    },
    task_ended: {
      message: 'The task of the call ended without a result',
      when: 'The gateway waited for a task in the place of the client, and the backend cancelled it or knows it no longer.',
    },
    backend_timeout: {
      message: 'Backend timed out',
      when: 'The backend sent nothing for longer than `limits.idleMs`, or the whole call took longer than `limits.totalMs`.',
    },
    backend_busy: { message: 'Backend busy', when: 'All processes of the backend are in use and the queue is full.' },
    backend_too_large: {
      message: 'Backend response too large',
      when: 'The response is larger than `limits.resultBytes` or `limits.lineBytes`.',
    },
    backend_session_lost: {
      message: 'Backend lost its session',
      when: 'The backend lost its session while the request was running. The backend may have executed the request; the gateway did not send it again.',
    },
    backend_flooding: {
      message: 'Backend ended for flooding',
      when:
        'The backend kept sending more messages that belong to no call than `limits.unsolicitedMessages` allows: its process ' +
        'or stream was ended. Look at what it sends (`log.level: debug`), and fix the backend or raise the limit.',
    },
    starting: {
      blame: 'gateway',
      status: 503,
      message: 'Starting',
      when: 'The gateway is listening but has not finished starting. Try again after `Retry-After`.',
    },
    shutting_down: {
      blame: 'gateway',
      status: 503,
      message: 'Shutting down',
      when: 'The gateway is stopping and accepts no new requests.',
    },

    // The gateway itself.
    store_unavailable: {
      blame: 'gateway',
      status: 503,
      message: 'The store cannot be used at the moment',
      when: 'The request needs state that is kept in Redis (`store.url`) or in files, which cannot be reached or written at the moment. The log says why. Requests that need no such state are served.',
    },
    out_of_descriptors: {
      blame: 'gateway',
      message: 'The gateway is out of file descriptors',
      when: 'The gateway’s process, or the machine, has no file descriptor left for a connection or a process. Raise the limit (`ulimit -n`, `LimitNOFILE=`), or lower `limits.connectionsTotal`.',
    },
    internal_error: {
      blame: 'gateway',
      message: 'Internal error',
      when: 'This is a bug in Bascule. `data.logId` identifies the entry in its log.',
    },
  },
);
