/** How often each rule decided a request, since the gateway started. Ids come from configs, so there are few. */
import type { Ruling } from '../policy/ruling.ts';

export interface RuleHit {
  allowed: number;
  denied: number;
  /** Requests that a rule in audit mode would have denied. */
  wouldDeny: number;
  /** In milliseconds since 1970. */
  lastAt: number;
}

/** Reloads may bring other rules again and again. The ids beyond are not counted. */
const RULES = 10_000;

export class RuleHits {
  readonly #hits = new Map<string, RuleHit>();
  readonly #now: () => number;
  /** Requests that no rule allowed. */
  unmatched = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  of(rule: string): Readonly<RuleHit> | undefined {
    return this.#hits.get(rule);
  }

  count({ rules, wouldDeny = [] }: Pick<Ruling, 'rules' | 'wouldDeny'>, isDenied: boolean): void {
    if (rules.length === 0 && isDenied) this.unmatched += 1;
    for (const rule of rules) this.#hit(rule, isDenied ? 'denied' : 'allowed');
    for (const rule of wouldDeny) this.#hit(rule, 'wouldDeny');
  }

  #hit(rule: string, how: 'allowed' | 'denied' | 'wouldDeny'): void {
    let hit = this.#hits.get(rule);
    if (hit === undefined) {
      if (this.#hits.size >= RULES) return;
      hit = { allowed: 0, denied: 0, wouldDeny: 0, lastAt: 0 };
      this.#hits.set(rule, hit);
    }
    hit[how] += 1;
    hit.lastAt = this.#now();
  }
}
