/** Opens channels to one backend, whatever it is reached by. */
import type { Era } from '../wire/revisions.ts';
import type { Channel, ChannelSink } from './channel.ts';
import type { Transport } from './verdict.ts';

/** One way in which a backend may be reached. */
export interface TransportWay {
  readonly transport: Transport;
  /**
   * A channel of its own: another process, or another conversation with the same address. Rejects with a Failure.
   * `patienceMs`: how long the backend may take to open it, where that is up to the backend, or how long one waits for its turn.
   * `owner`: the principal whose session it is. Absent: no principal owns it, and it is evicted first.
   */
  connect(era: Era, sink: ChannelSink, patienceMs?: number, owner?: string): Promise<Channel>;
}

export interface Connector extends TransportWay {
  /** HTTP+SSE at the same address, where the configuration leaves open which it is. */
  readonly older?: TransportWay;
  /** Ends whatever is left. Resolves when it is gone. */
  close(): Promise<void>;
}
