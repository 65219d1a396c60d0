/** The response at `/readyz`. */
import { type HttpAnswer, respondState } from './respond.ts';

/** Whether requests can be served, and the state of each backend. */
export interface Readiness {
  readonly ready: boolean;
  /** Of the config in force. */
  readonly generation?: number;
  readonly backends: Readonly<Record<string, BackendReadiness>>;
}

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

/** `mayKnow`: only an authenticated sender gets the names of backends. */
export function respondReadiness(res: HttpAnswer, readiness: Readiness, mayKnow: boolean): void {
  const { draining } = res.shared.gateway;
  const ready = readiness.ready && !draining;
  const status = draining ? 'shutting down' : ready ? 'ready' : 'not ready';
  const { generation, backends } = readiness;
  respondState(res, ready ? 200 : 503, mayKnow ? { status, generation, backends } : { status });
}
