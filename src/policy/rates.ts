/**
 * Rate limits for principals, tools and backends: requests per second, and concurrent calls. All limits that apply to a
 * request are checked before any of them counts it, so a refused request costs nothing. Each member of a batch is a
 * request: members admitted before another one was denied are counted, although nothing of the batch is executed.
 */
import { BoundedMap } from '../exchange/bounded-map.ts';
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

interface Measure {
  tokens: number;
  filledAt: number;
  running: number;
}

interface ReadyRate {
  readonly settings: RateSettings;
  readonly capacity: number;
  readonly isMeant: IsMeant;
  readonly rule: ReadyRule;
}

interface Met {
  readonly rate: ReadyRate;
  readonly measure: Measure;
}

export class Rates {
  readonly #rates: readonly ReadyRate[];
  readonly #now: () => number;
  readonly #looking: Looking;
  readonly #digest: (text: string) => string;
  /** Measures with running calls are kept. The least recently used of the others is the fullest. */
  readonly #measures = new BoundedMap<Measure>(MEASURES, ({ running }) => running === 0);

  /** Takes over the measures of `before` for limits with the same id and the same shares. */
  constructor(
    settings: readonly RateSettings[],
    world: World,
    now: () => number,
    groupsClaim = 'groups',
    before?: Rates,
  ) {
    this.#now = now;
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
      if (ids.has(key.slice(0, key.indexOf(' ')))) this.#measures.set(key, measure);
    }
  }

  admit(question: PolicyQuestion): Admission | RateExceeded {
    if (this.#rates.length === 0) return free;
    const met = this.#met(question);
    for (const one of met) {
      const excess = excessOf(one);
      if (excess !== undefined) return excess;
    }
    for (const { rate, measure } of met) {
      if (rate.settings.perSecond !== undefined) measure.tokens -= 1;
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
    const evaluation = new Evaluation(question.row.action, question, 'all', this.#looking);
    return this.#rates.flatMap((rate) => {
      if (!rate.isMeant(question.principal) || !couldApply(rate.rule, evaluation)) return [];
      return [{ rate, measure: this.#measure(rate, this.#key(rate, evaluation)) }];
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
    const measure = known ?? { tokens: rate.capacity, filledAt: now, running: 0 };
    if (known === undefined) this.#measures.set(key, measure);
    const since = Math.max(0, now - measure.filledAt);
    measure.tokens = Math.min(rate.capacity, measure.tokens + (since / 1_000) * perSecond);
    measure.filledAt = now;
    return measure;
  }
}

const free: Admission = { release: () => undefined };

function excessOf({ rate, measure }: Met): RateExceeded | undefined {
  const { id, perSecond, concurrent } = rate.settings;
  if (concurrent !== undefined && measure.running >= concurrent) return new RateExceeded(id, RETRY_CONCURRENT_MS);
  if (perSecond === undefined || measure.tokens >= 1) return undefined;
  return new RateExceeded(id, Math.ceil(((1 - measure.tokens) / perSecond) * 1_000));
}

function shareOf(share: RateShare, { principal, endpoint, backend, kind, name, own }: Evaluation): string {
  switch (share) {
    case 'principal':
      return principal.key;
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
