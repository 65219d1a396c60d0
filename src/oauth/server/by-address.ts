/** Rate limit per address, or per IPv6 site. Refused requests count too. */
import type { IncomingMessage } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import { type AttemptLimits, Attempts } from '../../web/attempts.ts';

export class ByAddress {
  readonly #attempts: Attempts;
  readonly #callers: ClientAddresses;

  constructor(limits: AttemptLimits, now: () => number, callers: ClientAddresses) {
    this.#attempts = new Attempts(limits, now);
    this.#callers = callers;
  }

  /** Milliseconds until the request is allowed; 0 if it is allowed now. */
  wait(req: IncomingMessage): number {
    const address = this.#callers.siteOf(req);
    const wait = this.#attempts.waitFor(address);
    this.#attempts.count(address);
    return wait;
  }
}
