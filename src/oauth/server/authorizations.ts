/**
 * Limits authorization requests. Anybody may start one, but the records that wait for a person to answer are bounded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import type { WallClock } from '../../observe/ports.ts';
import { ByAddress } from './by-address.ts';
import type { Holdings } from './holdings.ts';
import { authServerLimits as limits } from './limits.ts';
import { retryAfter, show } from './pages/answers.ts';
import { troublePage } from './pages/others.ts';

/** Open interactions end one by one, each after an hour at the latest, so there may be room soon. */
const FULL_MS = 60 * 1000;

export class Authorizations {
  readonly #byAddress: ByAddress;
  readonly #holdings: Holdings;

  constructor(time: Pick<WallClock, 'now'>, callers: ClientAddresses, holdings: Holdings) {
    this.#holdings = holdings;
    const { authorizationsPerAddress: most, authorizationsWithinMs: withinMs, countedNames: names } = limits;
    this.#byAddress = new ByAddress({ most, withinMs, names }, () => time.now(), callers);
  }

  /** False if the request was refused and the response has been sent. */
  async admits(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const wait = this.#byAddress.wait(req);
    if (wait > 0) return refuse(res, wait, 'too many from this address');
    const hasRoom = await this.#holdings.makeRoom(limits.openInteractions);
    return hasRoom || refuse(res, FULL_MS, 'there is no room for more at the moment');
  }
}

/** Responds with a page, since a person reads it. */
function refuse(res: ServerResponse, ms: number, error_description: string): false {
  show(res, { ...troublePage(429, { error: 'too_many_requests', error_description }), headers: retryAfter(ms) });
  return false;
}
