/**
 * How much a principal, a tool or a backend is given: requests a second, and calls at the same time. All limits that a request
 * meets are looked at before any of them counts it, so that what a limit refuses costs nothing. Each member of a batch is a
 * request: those that were admitted before another one was denied have been counted, though nothing of the batch is done.
 */
import { couldApply, type ReadyRule, readyRule, type World } from './match.ts';
import { Evaluation, type Looking, type PolicyQuestion } from './question.ts';
import type { On, Who } from './rules.ts';
import { encodePlainly } from './spellings.ts';
import { compileWho, type IsMeant } from './who.ts';

export const shares = ['principal', 'endpoint', 'backend', 'tool', 'method'] as const;
export type RateShare = (typeof shares)[number];

export interface RateSettings {
  readonly id: string;
  /** Each combination of these has its own measure. Empty: all together have one. */
  readonly per: readonly RateShare[];
  readonly who: Who;
  readonly what?: readonly string[] | undefined;
  readonly on: On;
  readonly perSecond?: number | undefined;
  /** How many may come at once after a pause. */
  readonly burst?: number | undefined;
  readonly concurrent?: number | undefined;
}

/** Over a limit. To be told as `rate_limited`. */
export class RateExceeded {
  readonly reason = 'rate_limited';
  readonly limit: string;
  /** When it is worth trying again. Of calls that run nobody knows when they end: soon is as good as later. */
  readonly retryAfterMs: number;

  constructor(limit: string, retryAfterMs: number) {
    this.limit = limit;
    this.retryAfterMs = retryAfterMs;
  }
}

/** To be given back once, when what was admitted is over. */
export interface Admission {
  release(): void;
}

/** Measures that are kept: principals times tools that are in use at the same time. Half a kilobyte each at most. */
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
  readonly key: string;
  readonly measure: Measure;
}

export class Rates {
  readonly #rates: readonly ReadyRate[];
  readonly #now: () => number;
  readonly #looking: Looking;
  readonly #digest: (text: string) => string;
  /** In the order of use. */
  readonly #measures = new Map<string, Measure>();

  /** What was measured before goes on where a limit has the same id and is for the same shares. */
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
      // Like a rule that denies: under every name of a thing.
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
    for (const [key, measure] of before.#measures) {
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
    const inquiry = new Evaluation(question.row.action, question, 'all', this.#looking);
    return this.#rates.flatMap((rate) => {
      if (!rate.isMeant(question.principal) || !couldApply(rate.rule, inquiry)) return [];
      const key = this.#key(rate, inquiry);
      return [{ rate, key, measure: this.#measure(rate, key) }];
    });
  }

  /** Callers choose the names in it, and a key is kept for long: it must not keep what came with it. An id has no space. */
  #key({ settings: { id, per } }: ReadyRate, inquiry: Evaluation): string {
    const shared = JSON.stringify(per.map((share) => shareOf(share, inquiry)));
    return `${id} ${shared.length > KEY_LENGTH ? this.#digest(shared) : shared}`;
  }

  #measure(rate: ReadyRate, key: string): Measure {
    const now = this.#now();
    const { perSecond = 0 } = rate.settings;
    const known = this.#measures.get(key);
    const measure = known ?? { tokens: rate.capacity, filledAt: now, running: 0 };
    const since = Math.max(0, now - measure.filledAt);
    measure.tokens = Math.min(rate.capacity, measure.tokens + (since / 1_000) * perSecond);
    measure.filledAt = now;
    this.#measures.delete(key);
    this.#measures.set(key, measure);
    if (known === undefined) this.#makeRoom();
    return measure;
  }

  /** The one that was not used for longest is the fullest; those with calls that run are kept as long as others can go. */
  #makeRoom(): void {
    if (this.#measures.size <= MEASURES) return;
    for (const [key, { running }] of this.#measures) {
      if (running > 0) continue;
      this.#measures.delete(key);
      return;
    }
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
    // By what its backend calls it: under another name, and at another endpoint, it is the same tool.
    case 'tool':
      return kind === share ? `${backend} ${own ?? name ?? ''}` : '';
    case 'method':
      return kind === share ? (name ?? '') : '';
  }
}
