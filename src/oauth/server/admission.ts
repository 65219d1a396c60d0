/** Limits requests that anybody may send and that create records: a rate per address, and a total of the records. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import type { AttemptCounter, AttemptCounts } from '../../store/counts.ts';
import type { Records } from '../../store/ports.ts';
import { clientCollection, keyOf, withoutPlace } from './adapter.ts';
import type { Holdings } from './holdings.ts';
import { authServerLimits as limits } from './limits.ts';
import { retryAfter, show, tell } from './pages/answers.ts';
import { troublePage } from './pages/others.ts';

/** Rate limit per address, or per IPv6 site. */
export class ByAddress {
  readonly #limit: AddressLimit;
  readonly #attempts: AttemptCounts;
  readonly #callers: ClientAddresses;

  constructor(limit: AddressLimit, attempts: AttemptCounts, callers: ClientAddresses) {
    this.#limit = limit;
    this.#attempts = attempts;
    this.#callers = callers;
  }

  /** Milliseconds until the request is allowed; 0 if it is allowed now, and counted. */
  wait(req: IncomingMessage): Promise<number> {
    return this.#attempts.attempt([{ ...this.#limit, name: this.#callers.siteOf(req), names: limits.countedNames }]);
  }
}

type AddressLimit = Pick<AttemptCounter, 'kind' | 'most' | 'withinMs'>;

const kinds = {
  /** The records that wait for a person to answer are bounded. */
  authorization: {
    rate: { kind: 'authorization', most: limits.authorizationsPerAddress, withinMs: limits.authorizationsWithinMs },
    tooMany: 'too many from this address',
    records: limits.openInteractions,
    full: 'the server cannot keep more open at the moment',
    /** Open interactions end one by one, each after an hour at the latest, so there may be room soon. */
    fullMs: 60 * 1000,
    refuse: refuseByPage,
  },
  registration: {
    rate: { kind: 'registration', most: limits.registrationsPerAddress, withinMs: limits.registrationsWithinMs },
    tooMany: 'too many registrations from this address',
    records: limits.clients,
    full: `all ${limits.clients} clients that can be registered are in use`,
    /** All clients are in use. One of them may have expired by then. */
    fullMs: 60 * 60 * 1000,
    refuse,
  },
} as const;

export class AdmissionLimit {
  readonly #kind: (typeof kinds)[keyof typeof kinds];
  readonly #byAddress: ByAddress;
  readonly #holdings: Holdings;

  constructor(kind: keyof typeof kinds, attempts: AttemptCounts, callers: ClientAddresses, holdings: Holdings) {
    this.#kind = kinds[kind];
    this.#byAddress = new ByAddress(this.#kind.rate, attempts, callers);
    this.#holdings = holdings;
  }

  /** False if the request was refused and the response has been sent. */
  async admits(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const { records, tooMany, full, fullMs, refuse } = this.#kind;
    const wait = await this.#byAddress.wait(req);
    if (wait > 0) return refuse(res, wait, tooMany);
    return (await this.#holdings.makeRoom(records)) || refuse(res, fullMs, full);
  }
}

/** A client that obtained a token is kept for as long as it could come back, and is never evicted. */
export async function keepClient(
  id: string,
  refreshUntil: number,
  records: Records,
  holdings: Holdings,
): Promise<void> {
  const key = keyOf(id);
  const text = await records.get(clientCollection, key);
  // A client with a metadata document has no record.
  if (text === undefined) return;
  const { text: next, place } = withoutPlace(text);
  const endsAt = refreshUntil + limits.usedClientExtraMs;
  if (await records.replace(clientCollection, key, text, next, endsAt)) await holdings.release(place);
}

/** A person reads it. */
export function refuseByPage(res: ServerResponse, ms: number, error_description: string): false {
  show(res, { ...troublePage(429, { error: 'too_many_requests', error_description }), headers: retryAfter(ms) });
  return false;
}

function refuse(res: ServerResponse, ms: number, error_description: string): false {
  tell(res, 429, { error: 'too_many_requests', error_description }, retryAfter(ms));
  return false;
}
