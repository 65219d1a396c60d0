/** Bounds what one signed-in person may ask of the console's API, so that others, and calls of clients, go on. */
import { BoundedMap } from '../exchange/bounded-map.ts';
import { refilled } from '../store/counts.ts';
import { ConsoleRefusal } from './ports.ts';

/** A page asks for four things at once; tried calls may wait for their backends. */
const CONCURRENT = 16;
/** Several open pages ask for a few things a second. An answer may take some milliseconds. */
const PER_SECOND = 20;
/** Opening every page after a pause. */
const BURST = 100;
const BUCKET = { perSecond: PER_SECOND, capacity: BURST };
/** Persons that are counted. More of them than use a console. */
const PERSONS = 10_000;

interface RequestMeasure {
  tokens: number;
  filledAt: number;
  running: number;
}

export class RequestLimiter {
  readonly #now: () => number;
  /** The least recently used has waited longest, and so is the fullest. */
  readonly #measures = new BoundedMap<RequestMeasure>(PERSONS, ({ running }) => running === 0);

  /** `now`: steady, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws a ConsoleRefusal over a limit. */
  async run<T>(person: string, answer: () => Promise<T>): Promise<T> {
    const measure = this.#measureOf(person);
    if (measure.running >= CONCURRENT) throw tooMany(`More than ${CONCURRENT} requests of yours are running`);
    if (measure.tokens < 1) throw tooMany(`You ask more than ${PER_SECOND} times a second`);
    measure.tokens -= 1;
    measure.running += 1;
    try {
      return await answer();
    } finally {
      measure.running -= 1;
    }
  }

  #measureOf(person: string): RequestMeasure {
    const now = this.#now();
    const known = this.#measures.get(person);
    if (known === undefined) {
      const fresh: RequestMeasure = { tokens: BURST, filledAt: now, running: 0 };
      this.#measures.set(person, fresh);
      return fresh;
    }
    known.tokens = refilled(known.tokens, now - known.filledAt, BUCKET);
    known.filledAt = now;
    return known;
  }
}

function tooMany(why: string): ConsoleRefusal {
  return new ConsoleRefusal(429, 'too_many_requests', `${why}: try again in a second`);
}
