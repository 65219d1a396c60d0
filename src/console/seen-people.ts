/** The principals that sent requests since the gateway started, with what their clients said of themselves. */
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Principal } from '../identity/principal.ts';
import type { RecordedFacts } from './recorded-call.ts';

export interface SeenPerson {
  /** As their last request presented it: a refreshed token may have other claims. */
  principal: Principal;
  calls: number;
  /** In milliseconds since 1970. */
  lastAt: number;
  /** Last use, by client, revision and endpoint. */
  readonly uses: Map<string, SeenUse>;
}

export interface SeenUse extends Pick<RecordedFacts, 'client' | 'revision' | 'endpoint'> {
  lastAt: number;
}

/** Some 1 KB each. */
const PEOPLE = 2_000;
/** The oldest use is forgotten first. */
const USES = 16;

export class SeenPeople {
  readonly #now: () => number;
  readonly #people = new BoundedMap<SeenPerson>(PEOPLE);

  constructor(now: () => number) {
    this.#now = now;
  }

  saw(principal: Principal, { client, revision, endpoint }: RecordedFacts): void {
    const lastAt = this.#now();
    let person = this.#people.get(principal.key);
    if (person === undefined) {
      person = { principal, calls: 0, lastAt, uses: new Map() };
      this.#people.set(principal.key, person);
    }
    person.principal = principal;
    person.calls += 1;
    person.lastAt = lastAt;
    // A refused request, or `initialize` itself: its session is not there yet.
    if (revision === undefined) return;
    const key = `${client}\n${revision}\n${endpoint}`;
    const use = person.uses.get(key);
    if (use !== undefined) use.lastAt = lastAt;
    else {
      person.uses.set(key, { client, revision, endpoint, lastAt });
      if (person.uses.size > USES) person.uses.delete(person.uses.keys().next().value ?? '');
    }
  }

  get(key: string): SeenPerson | undefined {
    return this.#people.get(key);
  }

  all(): readonly SeenPerson[] {
    return [...this.#people.entries()].map(([, person]) => person);
  }
}
