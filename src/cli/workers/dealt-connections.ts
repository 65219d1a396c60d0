/**
 * Connections that were dealt to a worker which has not taken them. `node:cluster` forgets them when the worker dies,
 * and their clients would wait for an answer that never comes. A worker says that it takes a connection before it reads
 * from it, so one that was not taken can go to another worker, as `node:cluster` does where a worker declines it.
 */
import type { Worker } from 'node:cluster';

/** Of `node:cluster`. A worker repeats the number of a message as `ack`. */
interface ClusterMessage {
  readonly cmd?: string;
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface DealtHandle {
  close(): void;
}

/** Everything that a worker has said was read so soon after its end. */
const READ_MS = 50;

type SendToWorker = (message: ClusterMessage, handle: DealtHandle | undefined, ...rest: unknown[]) => boolean;

export class DealtConnections {
  /** Those that take connections. */
  readonly #listening = new Set<Worker>();

  /** To be called when it was started. */
  watch(worker: Worker): void {
    const channel = worker.process;
    const dealt = new Map<number, DealtHandle>();
    const send = channel.send.bind(channel) as SendToWorker;
    const watched: SendToWorker = (message, handle, ...rest) => {
      if (message.act === 'newconn' && message.seq !== undefined && handle !== undefined)
        dealt.set(message.seq, handle);
      return send(message, handle, ...rest);
    };
    Object.assign(channel, { send: watched });
    channel.on('internalMessage', ({ ack }: ClusterMessage) => {
      if (ack !== undefined) dealt.delete(ack);
    });
    worker.on('listening', () => this.#listening.add(worker));
    let isDisconnected = false;
    channel.on('disconnect', () => {
      isDisconnected = true;
    });
    worker.on('exit', () => {
      this.#listening.delete(worker);
      setTimeout(() => {
        // Node does not say so where a connection was not taken, and `node:cluster` would deal more to the worker.
        if (!isDisconnected) channel.emit('disconnect');
        for (const [seq, handle] of dealt) {
          if (this.#listening.size === 0) handle.close();
          else channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false });
        }
      }, READ_MS);
    });
  }
}
