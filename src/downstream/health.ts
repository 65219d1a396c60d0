/** The response at `/readyz`. */
import { type HttpAnswer, respondState } from './respond.ts';

/** Whether requests can be served, and the state of each backend. */
export interface Readiness {
  readonly ready: boolean;
  /** Of the config in force. */
  readonly generation?: number;
  /**
   * By number, where the gateway has several. A backend has the state of the worker that has the most trouble with it.
   */
  readonly workers?: Readonly<Record<string, WorkerState>>;
  readonly backends: Readonly<Record<string, BackendReadiness>>;
}

/**
 * `starting`: its process is there, and serves nothing yet; `absent`: it ended, and is being replaced; `not ready`: no
 * backend can be used from there; `silent`: it has not been heard of for seconds.
 */
export type WorkerState = 'ready' | 'starting' | 'absent' | 'not ready' | 'silent';

export interface BackendReadiness {
  readonly state: string;
  /** Why the backend is down: a reason of the failure table. */
  readonly reason?: string;
  /** The same for people: the message that clients get, and the cause that they do not. */
  readonly message?: string;
  readonly cause?: string;
  /** What to do about it. */
  readonly cure?: string;
}

/**
 * `mayKnow`: only an authenticated sender gets the names of backends. A gateway without one of its workers is degraded
 * and still serves, so its status code is that of a gateway that is ready.
 */
export function respondReadiness(res: HttpAnswer, readiness: Readiness, mayKnow: boolean): void {
  const { draining } = res.shared.gateway;
  const ready = readiness.ready && !draining;
  const { generation, workers = {}, backends } = readiness;
  const isWhole = Object.values(workers).every((state) => state === 'ready');
  const status = draining ? 'shutting down' : !ready ? 'not ready' : isWhole ? 'ready' : 'degraded';
  const facts = { generation, workers: readiness.workers, backends };
  respondState(res, ready ? 200 : 503, mayKnow ? { status, ...facts } : { status });
}
