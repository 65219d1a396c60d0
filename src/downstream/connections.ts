/**
 * Limits the number of connections, in total and per address. A few more are accepted beyond the limits, so that health
 * paths answer and other clients get a response that says why they are refused.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Tally } from '../exchange/tally.ts';
import { destroyAfter, type HttpAnswer } from './respond.ts';
import type { Shared } from './shared.ts';

export interface ConnectionLimits {
  readonly connectionsTotal: number;
  readonly connectionsPerAddress: number;
}

/** Accepted beyond the limit. Probes of load balancers and container runtimes take one each, for an instant. */
export const RESERVED_CONNECTIONS = 32;
/** How long such a connection may stay open: a probe sends its request at once. */
const RESERVED_MS = 2_000;

/** What is known of one connection. */
export interface TrackedConnection {
  /** Over the limit of connections: its requests are refused, except health probes. */
  readonly isBeyondLimit: boolean;
  /** Responses that are still due. */
  due: number;
  /** The most recent response. */
  latest: HttpAnswer | undefined;
}

interface CountedConnection extends TrackedConnection {
  /** Undefined where connections from the address are not counted apart. */
  readonly address: string | undefined;
  /** Where it is counted. */
  readonly counter: ConnectionCounter;
}

export const state = Symbol('state of a connection');
/** Every connection has its state before its first request. */
export type TrackedSocket<T extends Duplex = Duplex> = T & { [state]: TrackedConnection };

/** One function for all connections: a closure for each would be kept as long as the connection. */
function leave(this: Socket): void {
  const connection = (this as TrackedSocket<Socket>)[state] as CountedConnection;
  connection.counter.closed(connection);
}

export class ConnectionCounter {
  readonly #shared: Shared;
  readonly #byAddress = new Tally();
  #total = 0;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  opened(socket: Socket): void {
    const { connectionsTotal, connectionsPerAddress } = this.#shared.limits;
    // Many clients share the address of a trusted proxy, so such an address has no limit.
    const address = this.#shared.currentGeneration.now.addresses.peer(socket);
    this.#count(address, 1);
    const own = address === undefined ? 0 : this.#byAddress.of(address);
    const isBeyondLimit = this.#total > connectionsTotal || own > connectionsPerAddress;
    const counted: CountedConnection = { isBeyondLimit, due: 0, latest: undefined, address, counter: this };
    (socket as TrackedSocket<Socket>)[state] = counted;
    socket.on('close', leave);
    if (isBeyondLimit) destroyAfter(socket, RESERVED_MS);
  }

  closed({ address }: CountedConnection): void {
    this.#count(address, -1);
  }

  #count(address: string | undefined, change: 1 | -1): void {
    this.#total += change;
    if (address !== undefined) this.#byAddress.add(address, change);
  }
}
