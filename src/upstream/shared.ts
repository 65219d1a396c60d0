/**
 * The one channel to a modern backend that all clients share. Over stdio it is a process, which may end: the next
 * request starts it again. Requests in flight at that moment have failed, and nothing is sent twice.
 */
import { Failure } from '../errors/failure.ts';
import type { Notification, Request } from '../wire/message.ts';
import { asFailure } from './as-failure.ts';
import type { Channel, ChannelSink, Outgoing, Pending, Reception, RequestSink } from './channel.ts';
import { type HealthReporter, outOfService } from './health.ts';
import type { Ids } from './ids.ts';
import { type Connect, openProbedChannel, type ProbedChannel } from './probed-channel.ts';

/** Requests that wait while a process starts. A start takes milliseconds, so more than this is a stampede. */
const WAITING = 256;

class QueuedRequest implements Pending {
  readonly outgoing: Outgoing;
  readonly sink: RequestSink;
  #pending: Pending | undefined;
  #aborted = false;

  constructor(outgoing: Outgoing, sink: RequestSink) {
    this.outgoing = outgoing;
    this.sink = sink;
  }

  send(channel: Channel): void {
    if (this.#aborted) return;
    try {
      this.#pending = channel.request(this.outgoing, this.sink);
    } catch (cause) {
      this.sink.failed(asFailure(cause), undefined);
    }
  }

  fail(failure: Failure): void {
    if (!this.#aborted) this.sink.failed(failure, undefined);
  }

  abort(): void {
    this.#aborted = true;
    this.#pending?.abort();
  }
}

export class SharedChannel implements Channel, ChannelSink {
  readonly streamPerRequest: boolean;
  /** Kept across restarts. Ids are never reused. */
  readonly ids: Ids;
  readonly #connect: Connect;
  readonly #health: Pick<HealthReporter, 'unreached'>;
  #channel: Channel | undefined;
  #sink: ChannelSink | undefined;
  #waiting: QueuedRequest[] | undefined;
  #closed: Failure | undefined;

  /** Takes over a channel that a probe opened. */
  constructor(line: ProbedChannel, connect: Connect, health: Pick<HealthReporter, 'unreached'>) {
    this.streamPerRequest = line.channel.streamPerRequest;
    this.ids = line.ids;
    this.#channel = line.channel;
    this.#connect = connect;
    this.#health = health;
    line.attach(this);
  }

  attach(sink: ChannelSink): void {
    this.#sink = sink;
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    if (this.#channel !== undefined) return this.#channel.request(outgoing, sink);
    const waiting = new QueuedRequest(outgoing, sink);
    const failure = this.#closed ?? this.#queue(waiting);
    if (failure !== undefined) queueMicrotask(() => waiting.fail(failure));
    return waiting;
  }

  async post(message: Uint8Array, headers: Readonly<Record<string, string>>): Promise<void> {
    // Without a process there is nothing to notify: the request of the notification ended with it.
    await this.#channel?.post(message, headers);
  }

  async listen(): Promise<void> {
    return;
  }

  async forget(): Promise<void> {
    return;
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

  #queue(waiting: QueuedRequest): Failure | undefined {
    if (this.#waiting === undefined) {
      this.#waiting = [waiting];
      void this.#reconnect();
      return undefined;
    }
    if (this.#waiting.length >= WAITING)
      return new Failure('backend_busy', { message: 'Backend busy: too many requests wait for its process to start' });
    this.#waiting.push(waiting);
    return undefined;
  }

  async #reconnect(): Promise<void> {
    try {
      const line = await openProbedChannel(this.#connect);
      if (this.#closed !== undefined) {
        await line.channel.close();
        throw this.#closed;
      }
      this.#channel = line.channel;
      // Calls `lost` at once if the channel is lost again already.
      line.attach(this);
      const waiting = this.#take();
      for (const one of waiting) one.send(line.channel);
    } catch (cause) {
      const failure = asFailure(cause);
      this.#health.unreached(failure);
      for (const one of this.#take()) one.fail(failure);
    }
  }

  #take(): readonly QueuedRequest[] {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    return waiting;
  }
}
