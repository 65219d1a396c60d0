/**
 * Limits the number of connections, in total and per address. A few more are accepted beyond the limits, so that health
 * paths answer and other clients get a response that says why they are refused.
 */
import type { Socket } from 'node:net';
import type { ClientAddresses } from './callers.ts';

export interface ConnectionLimits {
  readonly connectionsTotal: number;
  readonly connectionsPerAddress: number;
}

/** Accepted beyond the limit. Probes of load balancers and container runtimes take one each, for an instant. */
export const RESERVED_CONNECTIONS = 32;
/** How long such a connection may stay open: a probe sends its request at once. */
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

  /** Replaces the trusted proxies, for connections opened from now on. */
  trust(callers: ClientAddresses): void {
    this.#callers = callers;
  }

  opened(socket: MarkedSocket): void {
    const { connectionsTotal, connectionsPerAddress } = this.#limits;
    // Many clients share the address of a trusted proxy, so such an address has no limit.
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

/** True for a connection over the limit: its requests are refused, except health probes. */
export function isBeyondLimit(socket: MarkedSocket): boolean {
  return socket[refused] === true;
}
