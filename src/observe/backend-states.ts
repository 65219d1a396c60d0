/** How a backend fares, for the log. What a person has to do about a refusal is told elsewhere, with its address. */
import type { BackendState } from '../exchange/lane.ts';
import { causeText } from './cause.ts';
import type { Log } from './log.ts';

export function logBackendState(log: Log, backend: string, state: BackendState): void {
  if (state.state === 'down') {
    const { reason, message } = state.failure;
    const cause = causeText(state.failure);
    log.warn({ backend, reason, ...(cause && { cause }) }, `backend is down: ${message}`);
  } else if (state.state === 'ready') {
    const { eras, revision } = state.discovery;
    log.info({ backend, eras: eras.join(), revision }, 'backend is ready');
  }
}
