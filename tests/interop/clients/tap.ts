/**
 * Listens in on a connected transport of either TypeScript SDK: what the server really sent, with every member. (Both
 * SDKs drop progress that arrives together with the result, so their callbacks would not do.)
 */
import type { Heard } from '../job.ts';

interface Tapped {
  onmessage?: ((message: never, extra?: never) => void) | undefined;
}

interface Received {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

export class Tap {
  #last: unknown;

  constructor(transport: Tapped, hear: (heard: Heard) => void) {
    const deliver = transport.onmessage;
    transport.onmessage = (message: never, extra?: never) => {
      const { id, method, params, result } = message as Received;
      if (result !== undefined) this.#last = result;
      if (method !== undefined && id === undefined) hear({ method, params });
      deliver?.call(transport, message, extra);
    };
  }

  /** The result of the request that was last answered. Drivers make one request at a time. */
  last(): unknown {
    return this.#last;
  }
}

/** The SDKs send a progress token only where there is a callback; the tap hears the notifications. */
export function wantsProgress(): void {
  return;
}
