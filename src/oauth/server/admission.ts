/** Limits requests that anybody may send and that create records: a rate per address, and a total of the records. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import type { WallClock } from '../../observe/ports.ts';
import type { Records } from '../../store/ports.ts';
import { type AttemptLimits, Attempts } from '../../web/attempts.ts';
import { clientCollection, keyOf, withoutPlace } from './adapter.ts';
import type { Holdings } from './holdings.ts';
import { authServerLimits as limits } from './limits.ts';
import { retryAfter, show, tell } from './pages/answers.ts';
import { troublePage } from './pages/others.ts';

/** Rate limit per address, or per IPv6 site. Refused requests count too. */
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

/** Open interactions end one by one, each after an hour at the latest, so there may be room soon. */
const INTERACTIONS_FULL_MS = 60 * 1000;
/** All clients are in use. One of them may have expired by then. */
const CLIENTS_FULL_MS = 60 * 60 * 1000;

/** Limits authorization requests: the records that wait for a person to answer are bounded. */
export class AuthorizationLimit {
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
    if (wait > 0) return refuseByPage(res, wait, 'too many from this address');
    const hasRoom = await this.#holdings.makeRoom(limits.openInteractions);
    return hasRoom || refuseByPage(res, INTERACTIONS_FULL_MS, 'the server cannot keep more open at the moment');
  }
}

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
    return hasRoom || refuse(res, CLIENTS_FULL_MS, `all ${limits.clients} clients that can be registered are in use`);
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

/** A person reads it. */
function refuseByPage(res: ServerResponse, ms: number, error_description: string): false {
  show(res, { ...troublePage(429, { error: 'too_many_requests', error_description }), headers: retryAfter(ms) });
  return false;
}

function refuse(res: ServerResponse, ms: number, error_description: string): false {
  tell(res, 429, { error: 'too_many_requests', error_description }, retryAfter(ms));
  return false;
}
