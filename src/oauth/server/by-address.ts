/** How often one address, or one IPv6 site, may ask for something; also what is refused counts. */
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

  /** Milliseconds until it may; 0 where it may now. */
  wait(req: IncomingMessage): number {
    const address = this.#callers.siteOf(req);
    const wait = this.#attempts.waitFor(address);
    this.#attempts.count(address);
    return wait;
  }
}
