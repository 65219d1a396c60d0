/** What everything on an HTTP channel shares. */
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { ChannelNotes } from '../channel.ts';
import type { FloodBudget } from '../flood-meter.ts';
import type { RequestHeaders } from './headers.ts';

export interface HttpChannelLimits {
  /** One answer, or one event. */
  readonly resultBytes: number;
  /** Attempts to take up a stream again without progress in between. */
  readonly reconnects: number;
  /** Until a notification, an answer of ours, or a DELETE is accepted. */
  readonly handoverMs: number;
}

/** Takes the header of wire/via.ts, where an answer has it: those to `server/discover` and `initialize` alone. */
export type HearVia = (via: string) => void;

export interface HttpContext {
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly resumable: boolean;
  readonly limits: HttpChannelLimits;
  readonly flood: FloodBudget;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly notes: ChannelNotes;
  /** Hears which gateways the backend says are behind it. */
  readonly told?: HearVia | undefined;
  random(): number;
}

/** Why a connection ends before its answer does. Made once: nobody reads its stack. */
export const closedByUs = new Error('closed by us');

/** For whoever still waits on a channel that we close, or comes to it afterwards. */
export function wayClosed(): Failure {
  return new Failure('backend_unavailable', { message: 'The way to the backend was closed' });
}
