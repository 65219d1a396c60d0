/** Limits client registrations: anybody may register, within a rate per address and a total. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import type { WallClock } from '../../observe/ports.ts';
import type { Records } from '../../store/ports.ts';
import { clientCollection, keyOf, withoutPlace } from './adapter.ts';
import { ByAddress } from './by-address.ts';
import type { Holdings } from './holdings.ts';
import { authServerLimits as limits } from './limits.ts';
import { retryAfter, tell } from './pages/answers.ts';

/** All clients are in use. One of them may have expired by then. */
const FULL_MS = 60 * 60 * 1000;

export class RegistrationLimit {
  readonly #records: Records;
  readonly #time: Pick<WallClock, 'now'>;
  readonly #byAddress: ByAddress;
  readonly #holdings: Holdings;

  constructor(records: Records, time: Pick<WallClock, 'now'>, callers: ClientAddresses, holdings: Holdings) {
    this.#records = records;
    this.#holdings = holdings;
    this.#time = time;
    const { registrationsPerAddress: most, registrationsWithinMs: withinMs, countedNames: names } = limits;
    this.#byAddress = new ByAddress({ most, withinMs, names }, () => time.now(), callers);
  }

  /** False if the request was refused and the response has been sent. */
  async admits(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const wait = this.#byAddress.wait(req);
    if (wait > 0) return refuse(res, wait, 'too many registrations from this address');
    const hasRoom = await this.#holdings.makeRoom(limits.clients);
    return hasRoom || refuse(res, FULL_MS, `all ${limits.clients} clients that can be registered are in use`);
  }

  /** A client that obtained a token is kept for as long as it could come back, and is never evicted. */
  async used(clientId: string, refreshTtlMs: number): Promise<void> {
    const key = keyOf(clientId);
    const text = await this.#records.get(clientCollection, key);
    // A client with a metadata document has no record.
    if (text === undefined) return;
    const endsAt = this.#time.now() + refreshTtlMs + limits.usedClientExtraMs;
    const { text: next, place } = withoutPlace(text);
    if (await this.#records.replace(clientCollection, key, text, next, endsAt)) await this.#holdings.release(place);
  }
}

function refuse(res: ServerResponse, ms: number, error_description: string): false {
  tell(res, 429, { error: 'too_many_requests', error_description }, retryAfter(ms));
  return false;
}
