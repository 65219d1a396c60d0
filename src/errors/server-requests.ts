/** Failures of server requests. */
import { INTERNAL, INVALID_REQUEST, rows } from './row.ts';

export const asks = rows(
  { blame: 'client', status: 200, code: INTERNAL },
  {
    ask_not_supported: {
      code: INVALID_REQUEST,
      message: 'The client cannot answer this',
      when: 'The backend sent a server request for which the client has not declared the capability, or while no request of the client was open to carry it.',
    },
    ask_timeout: {
      message: 'The client did not answer in time',
      when: 'The client did not answer a server request within `limits.askMs`.',
    },
    ask_failed: {
      message: 'The client answered with an error',
      when: 'The client answered a server request with an error, and the call cannot continue without the answer.',
    },
    ask_declined: {
      message: 'The person declined what the backend needs',
      when: 'The backend requires that a page is visited first. The person declined, so the call cannot continue.',
    },
    revision_too_old: {
      code: INVALID_REQUEST,
      message: 'The client’s revision does not have this',
      when: 'The backend needs a feature that the client’s revision does not have. `data` has the feature, the first revision with it, and the client’s revision.',
    },
    too_many_asks: {
      blame: 'backend',
      message: 'Too many open server requests',
      when: 'The session has as many unanswered server requests as `limits.asksPerSession` allows.',
    },
    too_many_rounds: {
      blame: 'backend',
      message: 'Too many rounds of input',
      when: 'The backend asked for input more often in one call than `limits.rounds` allows.',
    },
    round_too_large: {
      blame: 'backend',
      message: 'Too many bytes in one round of input',
      when: 'The server requests of one round, or the answers to them, are larger than `limits.roundBytes`.',
    },
    too_many_parked: {
      message: 'Too many calls wait for input',
      when: 'The number of calls that wait for answers of their clients has reached `limits.parkedPerPrincipal`, `limits.parkedPerBackend` or `limits.parkedTotal`.',
    },
  },
);
