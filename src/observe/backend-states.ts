/** Logs changes of a backend's state: ready, down and why, refused and what a person can do. */
import type { BackendState } from '../exchange/upstream-session.ts';
import { explanationOf } from './cause.ts';
import type { Log } from './log.ts';

export function logBackendState(log: Log, backend: string, state: BackendState): void {
  switch (state.state) {
    case 'starting':
      log.info({ backend }, 'backend starting');
      return;
    case 'personal':
      log.info({ backend }, 'backend ready: each user connects with their own account');
      return;
    case 'ready': {
      const { eras, revision } = state.discovery;
      log.info({ backend, eras, revision }, 'backend ready');
      return;
    }
    case 'refused': {
      const { reason, message, data } = state.failure;
      if (reason === 'consent_needed')
        log.warn({ backend, reason }, `backend needs consent: open ${String(data?.url)}`);
      else log.warn({ backend, ...explanationOf(state.failure) }, `backend not usable: ${message}`);
      return;
    }
    case 'down':
      log.warn(
        { backend, ...explanationOf(state.failure) },
        `backend down: ${state.failure.message}; the gateway retries in the background`,
      );
  }
}
