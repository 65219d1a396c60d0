/** Opens channels to one backend, whatever its transport. */
import type { Era } from '../wire/revisions.ts';
import type { Channel, ChannelSink } from './channel.ts';
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
  /** Ends everything that is still open. Resolves when that is done. */
  close(): Promise<void>;
}
