/**
 * How many connections there may be, of all and of each address. A few beyond that are accepted all the same, so that health
 * paths answer and everybody else is told why they are refused.
 */
import type { Socket } from 'node:net';
import type { ClientAddresses } from './callers.ts';

export interface ConnectionLimits {
  readonly connectionsTotal: number;
  readonly connectionsPerAddress: number;
}

/** Beyond the limit. Probes of load balancers and container runtimes take one each, for an instant. */
export const RESERVED_CONNECTIONS = 32;
/** How long one of those may take for its request: a probe sends it at once. */
const RESERVED_MS = 2_000;

const refused = Symbol('over the limit of connections');
type MarkedSocket = Socket & { [refused]?: true };

export class ConnectionCounter {
  readonly #limits: ConnectionLimits;
  #callers: ClientAddresses;
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(limits: ConnectionLimits, callers: ClientAddresses) {
    this.#limits = limits;
    this.#callers = callers;
  }

  /** Whose word counts about who has called them, from now on. */
  trust(callers: ClientAddresses): void {
    this.#callers = callers;
  }

  opened(socket: MarkedSocket): void {
    const { connectionsTotal, connectionsPerAddress } = this.#limits;
    // Behind a trusted proxy there are many callers on one address.
    const address = this.#callers.peer(socket);
    const own = address === undefined ? 0 : (this.#byAddress.get(address) ?? 0) + 1;
    if (address !== undefined) this.#byAddress.set(address, own);
    this.#total += 1;
    socket.once('close', () => this.#closed(address));
    if (this.#total <= connectionsTotal && own <= connectionsPerAddress) return;
    socket[refused] = true;
    const timer = setTimeout(() => socket.destroy(), RESERVED_MS);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  }

  #closed(address: string | undefined): void {
    this.#total -= 1;
    if (address === undefined) return;
    const left = (this.#byAddress.get(address) ?? 0) - 1;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }
}

/** Beyond the limit: it is told so, and nothing else. */
export function isBeyondLimit(socket: MarkedSocket): boolean {
  return socket[refused] === true;
}
