/** Logs changes of a backend's state: ready, down and why, refused and what a person can do. */
import type { BackendState } from '../exchange/upstream-session.ts';
import { explanationOf } from './cause.ts';
import type { Log } from './log.ts';

export function logBackendState(log: Log, backend: string, state: BackendState): void {
  if (state.state === 'starting') log.info({ backend }, 'backend starting');
  else if (state.state === 'personal')
    log.info({ backend }, 'backend ready: each user connects with their own account');
  else if (state.state === 'ready') {
    const { eras, revision } = state.discovery;
    log.info({ backend, eras, revision }, 'backend ready');
  } else {
    const { reason, message, data } = state.failure;
    const isDown = state.state === 'down';
    const text = isDown ? `down: ${message}; the gateway retries in the background` : `not usable: ${message}`;
    if (isDown || reason !== 'consent_needed')
      log.warn({ backend, ...explanationOf(state.failure) }, `backend ${text}`);
    else log.warn({ backend, reason }, `backend needs consent: open ${String(data?.url)}`);
  }
}
