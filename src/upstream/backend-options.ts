/** What a backend is created from: how it is reached, its limits, and what it shares with others. */
import type { Limits } from '../config/limits.ts';
import type { Raw } from '../wire/compose.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import type { Backoff } from './backoff.ts';
import type { Behind } from './behind.ts';
import type { BackendNotes, Channel, ChannelSink } from './channel.ts';
import type { DeadlineLimits, TimerClock } from './deadlines.ts';
import type { HealthLimits } from './health.ts';
import type { LegacyOptions } from './legacy.ts';
import type { ProbeOptions } from './probe-connection.ts';
import type { ProbeSlots } from './probe-slots.ts';
import type { Slots } from './slots.ts';
import type { Transport } from './verdict.ts';

/** One transport by which a backend may be reached. */
export interface TransportWay {
  readonly transport: Transport;
  /**
   * Opens a separate channel: a process of its own, or a separate HTTP conversation. Rejects with a Failure.
   * `patienceMs`: how long the backend may take to open it, or how long to wait for a free process.
   * `owner`: the principal whose session it is. Absent: no principal owns it, and it is evicted first.
   */
  connect(era: Era, sink: ChannelSink, patienceMs?: number, owner?: string): Promise<Channel>;
}

export interface Connector extends TransportWay {
  /** HTTP+SSE at the same address, where the config does not fix the transport. */
  readonly older?: TransportWay;
  /** Processes that run or are being started. Absent over HTTP. */
  readonly processes?: number;
  /** Ends everything that is still open. Resolves when that is done. */
  close(): Promise<void>;
}

type BackendLimits = DeadlineLimits &
  HealthLimits &
  LegacyOptions['limits'] &
  ProbeOptions['limits'] &
  Pick<Limits, 'probeAgeMs' | 'slowStartMs' | 'changesMs'>;

export interface BackendOptions {
  readonly name: string;
  readonly connector: Connector;
  readonly limits: BackendLimits;
  readonly clock: TimerClock;
  /** The connector's process starts use the same backoff. */
  readonly backoff: Backoff;
  readonly notes: BackendNotes;
  /** Who we are: a raw `Implementation`. */
  readonly self: Raw;
  /** One legacy session is shared by all clients. */
  readonly share: boolean;
  /** The operator declares that the backend keeps no state between calls. */
  readonly isStateless?: boolean;
  /** Limits concurrent calls, across all principals that share the backend. */
  readonly callSlots?: Slots | undefined;
  /** Generation of the config that created the backend. Permits of older generations are refused. */
  readonly since?: number | undefined;
  /** Revisions that may be used with the backend. Absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  /** Only one process may run, so a modern backend cannot get a second one for its legacy half. */
  readonly single?: boolean;
  /** Shared by all backends of a gateway. Absent: the first probe starts at once. */
  readonly slots?: Pick<ProbeSlots, 'run'> | undefined;
  /** Absent where the transport cannot say which gateways are behind the backend. */
  readonly behind?: Behind | undefined;
}
