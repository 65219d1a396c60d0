/**
 * Rate limits for principals, tools and backends: requests per second, and concurrent calls. All limits that apply to a
 * request are checked before any of them counts it, so a refused request costs nothing. Each member of a batch is a
 * request: members admitted before another one was denied are counted, although nothing of the batch is executed.
 * Several processes share requests per second (lots.ts); concurrent calls are counted by each.
 */
import { BoundedMap } from '../exchange/bounded-map.ts';
import { type Lot, Lots, newLot, type TokenSource } from './lots.ts';
import { couldApply, type ReadyRule, readyRule, type World } from './match.ts';
import { Evaluation, type Looking, type PolicyQuestion } from './question.ts';
import type { On, Who } from './rules.ts';
import { encodePlainly } from './spellings.ts';
import { compileWho, type IsMeant } from './who.ts';

export const shares = ['principal', 'endpoint', 'backend', 'tool', 'method'] as const;
export type RateShare = (typeof shares)[number];

export interface RateSettings {
  readonly id: string;
  /** Each combination of these has its own measure. Empty: one measure for all together. */
  readonly per: readonly RateShare[];
  readonly who: Who;
  readonly what?: readonly string[] | undefined;
  readonly on: On;
  readonly perSecond?: number | undefined;
  /** How many requests may come at once after a pause. */
  readonly burst?: number | undefined;
  readonly concurrent?: number | undefined;
}

/** A limit was exceeded. Reported as `rate_limited`. */
export class RateExceeded {
  readonly reason = 'rate_limited';
  readonly limit: string;
  /** When to retry. It is unknown when running calls end, so a fixed short time is used for those. */
  readonly retryAfterMs: number;

  constructor(limit: string, retryAfterMs: number) {
    this.limit = limit;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Must be released once, when the admitted request is done. */
export interface Admission {
  release(): void;
}

/** Measures that are kept: principals times tools in use at the same time. At most half a kilobyte each. */
const MEASURES = 100_000;
/** Longer than a principal and a tool need. */
const KEY_LENGTH = 256;
const RETRY_CONCURRENT_MS = 1_000;

/** A request waits for its own question, and for one that was asked before it. */
const ROUNDS = 3;

interface Measure {
  tokens: number;
  filledAt: number;
  running: number;
  /** Set where the tokens are shared: `tokens` are not used then. */
  readonly lot: Lot | undefined;
}

interface ReadyRate {
  readonly settings: RateSettings;
  readonly capacity: number;
  readonly isMeant: IsMeant;
  readonly rule: ReadyRule;
}

interface Met {
  readonly rate: ReadyRate;
  readonly key: string;
  readonly measure: Measure;
}

export interface RatesOptions {
  /** In milliseconds. */
  readonly now: () => number;
  readonly groupsClaim?: string | undefined;
  /** Its measures are taken over for limits with the same id and the same shares. */
  readonly before?: Rates | undefined;
  /** Absent: this process is the only one. */
  readonly source?: TokenSource | undefined;
}

export class Rates {
  readonly #rates: readonly ReadyRate[];
  readonly #now: () => number;
  readonly #looking: Looking;
  readonly #digest: (text: string) => string;
  readonly #lots: Lots | undefined;
  /** Measures in use are kept. The least recently used of the others is the fullest. */
  readonly #measures = new BoundedMap<Measure>(MEASURES, ({ running, lot }) => running === 0 && !lot?.waiting);

  constructor(
    settings: readonly RateSettings[],
    world: World,
    { now, groupsClaim = 'groups', before, source }: RatesOptions,
  ) {
    this.#now = now;
    this.#lots = source && new Lots(source, now);
    this.#digest = world.digest ?? ((text) => text);
    this.#looking = { groupsClaim: '', trusted: new Set(), encode: world.encode ?? encodePlainly };
    this.#rates = settings.map((one, order) => ({
      settings: one,
      capacity: one.burst ?? Math.max(1, one.perSecond ?? 1),
      isMeant: compileWho(one.who, groupsClaim),
      // Like a deny rule: applies under every name of a target.
      rule: readyRule({ ...one, effect: 'deny', mode: 'enforce', with: {} }, order, world),
    }));
    if (before !== undefined) this.#goOn(before);
  }

  get size(): number {
    return this.#measures.size;
  }

  #goOn(before: Rates): void {
    const keyOf = ({ settings: { id, per } }: ReadyRate) => JSON.stringify([id, ...per]);
    const same = new Set(before.#rates.map(keyOf));
    const ids = new Set(this.#rates.filter((rate) => same.has(keyOf(rate))).map(({ settings }) => settings.id));
    for (const [key, measure] of before.#measures.entries()) {
      if (!ids.has(key.slice(0, key.indexOf(' ')))) continue;
      this.#measures.set(key, measure);
      // By the new rate the bucket may have tokens.
      if (measure.lot !== undefined) measure.lot.askAt = Number.NEGATIVE_INFINITY;
    }
  }

  /** Returns a promise only where other processes have to be asked. */
  admit(question: PolicyQuestion): Admission | RateExceeded | Promise<Admission | RateExceeded> {
    if (this.#rates.length === 0) return free;
    const met = this.#met(question);
    return this.#lacking(met).length === 0 ? this.#decide(met) : this.#askAndDecide(met);
  }

  /** The buckets whose tokens have to be asked for, where the request is not refused anyway. */
  #lacking(met: readonly Met[]): readonly Met[] {
    const lots = this.#lots;
    if (lots === undefined || met.some(isOverConcurrent)) return none;
    return met.filter(
      ({ rate, measure: { lot } }) => rate.settings.perSecond !== undefined && lot !== undefined && lots.lacks(lot),
    );
  }

  async #askAndDecide(met: readonly Met[]): Promise<Admission | RateExceeded> {
    const lots = met.flatMap(({ measure: { lot } }) => (lot === undefined ? [] : [lot]));
    for (const lot of lots) lot.waiting += 1;
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const lacking = this.#lacking(met);
        if (lacking.length === 0) break;
        await Promise.all(lacking.map((one) => this.#fetch(one)));
      }
      return this.#decide(met);
    } finally {
      for (const lot of lots) lot.waiting -= 1;
    }
  }

  async #fetch({ rate: { settings, capacity }, key, measure: { lot } }: Met): Promise<void> {
    const { per, perSecond } = settings;
    if (lot !== undefined && perSecond !== undefined)
      await this.#lots?.fetch(`${per.join()} ${key}`, lot, { perSecond, capacity });
  }

  #decide(met: readonly Met[]): Admission | RateExceeded {
    for (const one of met) {
      const excess = this.#excessOf(one);
      if (excess !== undefined) return excess;
    }
    for (const { rate, measure } of met) {
      if (rate.settings.perSecond !== undefined) (measure.lot ?? measure).tokens -= 1;
      measure.running += 1;
    }
    let released = false;
    return {
      release: () => {
        if (released) return;
        released = true;
        for (const { measure } of met) measure.running -= 1;
      },
    };
  }

  #met(question: PolicyQuestion): readonly Met[] {
    const { action } = question.row;
    const evaluation = new Evaluation(action, question, 'all', this.#looking);
    return this.#rates.flatMap((rate) => {
      // Clients poll for tasks: only a rate that names them counts that.
      if (action === 'task' && rate.settings.what?.includes(action) !== true) return [];
      if (!rate.isMeant(question.principal) || !couldApply(rate.rule, evaluation)) return [];
      const key = this.#key(rate, evaluation);
      return [{ rate, key, measure: this.#measure(rate, key) }];
    });
  }

  /**
   * Clients choose the names in a key, and keys are kept for long, so long ones are replaced by a digest. An id has no
   * space.
   */
  #key({ settings: { id, per } }: ReadyRate, evaluation: Evaluation): string {
    const shared = JSON.stringify(per.map((share) => shareOf(share, evaluation)));
    return `${id} ${shared.length > KEY_LENGTH ? this.#digest(shared) : shared}`;
  }

  #measure(rate: ReadyRate, key: string): Measure {
    const now = this.#now();
    const { perSecond = 0 } = rate.settings;
    const known = this.#measures.get(key);
    const measure = known ?? { tokens: rate.capacity, filledAt: now, running: 0, lot: this.#lots && newLot() };
    if (known === undefined) this.#measures.set(key, measure);
    const since = Math.max(0, now - measure.filledAt);
    measure.tokens = Math.min(rate.capacity, measure.tokens + (since / 1_000) * perSecond);
    measure.filledAt = now;
    return measure;
  }

  #excessOf(met: Met): RateExceeded | undefined {
    const { id, perSecond } = met.rate.settings;
    const { tokens, lot } = met.measure;
    if (isOverConcurrent(met)) return new RateExceeded(id, RETRY_CONCURRENT_MS);
    if (perSecond === undefined || (lot?.tokens ?? tokens) >= 1) return undefined;
    if (lot === undefined) return new RateExceeded(id, Math.ceil(((1 - tokens) / perSecond) * 1_000));
    return new RateExceeded(id, Math.max(1, Math.ceil(lot.emptyUntil - this.#now())));
  }
}

const free: Admission = { release: () => undefined };
const none: readonly Met[] = [];

function isOverConcurrent({ rate: { settings }, measure }: Met): boolean {
  return settings.concurrent !== undefined && measure.running >= settings.concurrent;
}

function shareOf(share: RateShare, { principal, endpoint, backend, kind, name, own }: Evaluation): string {
  switch (share) {
    case 'principal':
      return (principal.holder ?? principal).key;
    case 'endpoint':
      return endpoint;
    case 'backend':
      return backend;
    // By the backend's own name: under another name, or at another endpoint, it is the same tool.
    case 'tool':
      return kind === share ? `${backend} ${own ?? name ?? ''}` : '';
    case 'method':
      return kind === share ? (name ?? '') : '';
  }
}
