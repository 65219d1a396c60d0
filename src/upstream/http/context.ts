/** What all requests and streams of an HTTP channel share. */
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { ChannelNotes } from '../channel.ts';
import type { FloodBudget } from '../flood-meter.ts';
import type { RequestHeaders } from './headers.ts';

export interface HttpChannelLimits {
  /** One response, or one event. */
  readonly resultBytes: number;
  /** Attempts to resume a stream without progress in between. */
  readonly reconnects: number;
  /** Until the backend accepts a notification, a response of ours, or a DELETE. */
  readonly handoverMs: number;
}

/** Receives the header of wire/via.ts. Only responses to `server/discover` and `initialize` have it. */
export type HearVia = (via: string) => void;

export interface HttpContext {
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly resumable: boolean;
  readonly limits: HttpChannelLimits;
  readonly flood: FloodBudget;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly notes: ChannelNotes;
  /** Receives which gateways the backend reports behind it. */
  readonly told?: HearVia | undefined;
  random(): number;
}

/** The reason for closing a connection before its response is complete. Created once: its stack is never read. */
export const closedByUs = new Error('closed by us');

/** For requests that wait on a channel that we close, or arrive afterwards. */
export function wayClosed(): Failure {
  return new Failure('backend_unavailable', { message: 'The way to the backend was closed' });
}
