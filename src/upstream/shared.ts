/**
 * The one channel to a modern backend that all clients share. Over stdio it is a process, which may end: the next
 * request starts it again. Requests in flight at that moment have failed, and nothing is sent twice.
 */
import { Failure } from '../errors/failure.ts';
import type { Notification, Request } from '../wire/message.ts';
import { asFailure } from './as-failure.ts';
import type { Channel, ChannelSink, Outgoing, Pending, RequestSink } from './channel.ts';
import { type HealthReporter, outOfService } from './health.ts';
import { type Connect, openProbedChannel, type ProbedChannel } from './probed-channel.ts';
import type { Reception } from './reception.ts';

/** Requests that wait while a process starts. A start takes milliseconds, so more than this is a stampede. */
const WAITING = 256;

export class SharedChannel implements Channel, ChannelSink {
  readonly streamPerRequest: boolean;
  readonly #connect: Connect;
  readonly #health: Pick<HealthReporter, 'unreached'>;
  #channel: Channel | undefined;
  #sink: ChannelSink | undefined;
  #opening: Promise<Channel> | undefined;
  #waiting = 0;
  #closed: Failure | undefined;

  /** Takes over a channel that a probe opened. */
  constructor(probedChannel: ProbedChannel, connect: Connect, health: Pick<HealthReporter, 'unreached'>) {
    this.streamPerRequest = probedChannel.channel.streamPerRequest;
    this.#channel = probedChannel.channel;
    this.#connect = connect;
    this.#health = health;
    probedChannel.attach(this);
  }

  attach(sink: ChannelSink): void {
    this.#sink = sink;
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    if (this.#channel !== undefined) return this.#channel.request(outgoing, sink);
    let pending: Pending | undefined;
    let isAborted = false;
    this.#reopen()
      .then((channel) => {
        if (!isAborted) pending = channel.request(outgoing, sink);
      })
      .catch((cause: unknown) => {
        if (!isAborted) sink.failed(asFailure(cause), undefined);
      });
    return {
      abort: () => {
        isAborted = true;
        pending?.abort();
      },
    };
  }

  async post(message: Uint8Array, headers: Readonly<Record<string, string>>): Promise<void> {
    // Without a process there is nothing to notify: the request of the notification ended with it.
    await this.#channel?.post(message, headers);
  }

  async close(): Promise<void> {
    this.#closed = outOfService();
    const channel = this.#channel;
    this.#channel = undefined;
    await channel?.close();
  }

  stray(message: Notification | Request): Reception {
    return this.#sink?.stray(message) ?? 'none';
  }

  lost(failure: Failure): void {
    this.#channel = undefined;
    this.#health.unreached(failure);
    this.#sink?.lost(failure);
  }

  async #reopen(): Promise<Channel> {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#waiting >= WAITING)
      throw new Failure('backend_busy', { message: 'Backend busy: too many requests wait for its process to start' });
    this.#waiting += 1;
    this.#opening ??= this.#connectAgain();
    return this.#opening;
  }

  async #connectAgain(): Promise<Channel> {
    try {
      const probedChannel = await openProbedChannel(this.#connect);
      if (this.#closed !== undefined) {
        await probedChannel.channel.close();
        throw this.#closed;
      }
      this.#channel = probedChannel.channel;
      // Calls `lost` at once if the channel is lost again already.
      probedChannel.attach(this);
      return probedChannel.channel;
    } catch (cause) {
      const failure = asFailure(cause);
      this.#health.unreached(failure);
      throw failure;
    } finally {
      this.#opening = undefined;
      this.#waiting = 0;
    }
  }
}
