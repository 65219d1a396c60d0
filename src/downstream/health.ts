/** What operators and load balancers ask. */
import type { HttpAnswer } from './answer.ts';
import { respondState } from './respond.ts';

/** Whether requests can be served, and where each backend stands. */
export interface Readiness {
  readonly ready: boolean;
  /** Of the config that is in force. */
  readonly generation?: number;
  readonly backends: Readonly<Record<string, BackendReadiness>>;
}

export interface BackendReadiness {
  readonly state: string;
  /** Why it is down: a reason of the failure table. */
  readonly reason?: string;
  /** The same for people: what clients are told, and what they are not. */
  readonly message?: string;
  readonly cause?: string;
  /** What to do about it. */
  readonly cure?: string;
}

/** The process lives. What it can do is asked at `/readyz`. */
export function respondHealth(res: HttpAnswer): void {
  respondState(res, 200, { status: 'ok' });
}

/** `mayKnow`: the names of backends are for those who may come in. */
export function respondReadiness(res: HttpAnswer, readiness: Readiness, closing: boolean, mayKnow: boolean): void {
  const ready = readiness.ready && !closing;
  const status = closing ? 'shutting down' : ready ? 'ready' : 'not ready';
  const { generation, backends } = readiness;
  respondState(res, ready ? 200 : 503, mayKnow ? { status, generation, backends } : { status });
}
