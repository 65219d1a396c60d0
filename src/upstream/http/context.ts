/** What all HTTP channels to a backend share. */
import type { Limits } from '../../config/limits.ts';
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { ChannelNotes } from '../channel.ts';
import type { FloodBudget } from '../flood-meter.ts';
import { type HeaderRecord, RequestHeaders } from './headers.ts';
import type { CallPools } from './pool.ts';

/** `resultBytes`: one response, or one event. */
export interface HttpChannelLimits extends Pick<Limits, 'resultBytes' | 'reconnects'> {
  /** Until the backend accepts a notification, a response of ours, or a DELETE. */
  readonly oneWayMs: number;
}

/** Receives the header of wire/via.ts. Only responses to `server/discover` and `initialize` have it. */
export type HearVia = (via: string) => void;

/** What a channel of either HTTP transport is opened with. */
export interface HttpTransportOptions {
  readonly url: URL;
  /** Shared with other channels to the same backend; closing a channel leaves them open. */
  readonly pools: CallPools;
  /** Those of the config. */
  readonly headers: HeaderRecord;
  /** Shared with other channels to the same backend. */
  readonly flood: FloodBudget;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly notes: ChannelNotes;
  /** Receives which gateways the backend reports behind it. */
  readonly told?: HearVia | undefined;
}

export interface HttpChannelOptions extends HttpTransportOptions {
  /** Whether a cut stream may be resumed: the legacy revisions can, the modern one cannot. */
  readonly resumable: boolean;
  readonly limits: HttpChannelLimits;
  /** From 0 up to 1, for jitter. */
  readonly random: () => number;
}

/** Shared by all channels of a backend that are opened in the same way: there may be thousands. */
export interface HttpContext extends Omit<HttpChannelOptions, 'headers'> {
  readonly path: string;
  readonly headers: RequestHeaders;
}

export function httpContext(options: HttpChannelOptions): HttpContext {
  return { ...options, path: pathOf(options.url), headers: new RequestHeaders(options.headers) };
}

export function pathOf({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}

/** The reason for closing a connection before its response is complete. Created once: its stack is never read. */
export const closedByUs = new Error('closed by the gateway');

/** For requests that wait on a channel that we close, or arrive afterwards. */
export function wayClosed(): Failure {
  return new Failure('backend_unavailable', { message: 'The connection to the backend was closed' });
}
