/** Opens channels to one backend, whatever it is reached by. */
import type { Era } from '../wire/revisions.ts';
import type { Channel, ChannelSink } from './channel.ts';
import type { Transport } from './verdict.ts';

export interface Connector {
  readonly transport: Transport;
  /** A channel of its own: another process, or another conversation with the same address. Rejects with a Failure. */
  connect(era: Era, sink: ChannelSink): Promise<Channel>;
  /** Ends whatever is left. Resolves when it is gone. */
  close(): Promise<void>;
}
