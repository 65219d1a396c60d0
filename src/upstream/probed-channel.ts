/** A channel with its ids, and a sink that can be handed from a probe to an upstream session. */
import type { Failure } from '../errors/failure.ts';
import type { Notification, Request } from '../wire/message.ts';
import type { Channel, ChannelSink } from './channel.ts';
import { Ids } from './envelope.ts';
import type { Reception } from './reception.ts';

export type Connect = (sink: ChannelSink) => Promise<Channel>;

export interface ProbedChannel {
  readonly channel: Channel;
  readonly ids: Ids;
  /**
   * Sets the receiver for what belongs to no request. Its `lost` is called at once where the channel is already lost.
   */
  attach(sink: ChannelSink): void;
}

class SinkRelay implements ChannelSink {
  #sink: ChannelSink | undefined;
  #lost: Failure | undefined;

  stray(message: Notification | Request): Reception {
    return this.#sink?.stray(message) ?? 'none';
  }

  lost(failure: Failure): void {
    this.#lost = failure;
    this.#sink?.lost(failure);
  }

  attach(sink: ChannelSink): void {
    this.#sink = sink;
    if (this.#lost !== undefined) sink.lost(this.#lost);
  }
}

export async function openProbedChannel(connect: Connect): Promise<ProbedChannel> {
  const relay = new SinkRelay();
  const channel = await connect(relay);
  return { channel, ids: new Ids(), attach: (sink) => relay.attach(sink) };
}
