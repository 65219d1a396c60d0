/**
 * Log lines about what strangers can bring about at will: the first of a kind at once, then one line for each interval with
 * the number of those that came meanwhile. So a flood is seen, and does not become the log.
 */
import type { Log, LogMethod } from './log.ts';

export interface CoalescedOptions {
  readonly log: Log;
  readonly after: (ms: number, action: () => void) => () => void;
  readonly intervalMs?: number;
  readonly kinds?: number;
}

type CoalescedFacts = Readonly<Record<string, unknown>>;

/** Soon enough for a person who looks, seldom enough for a day's log. */
const INTERVAL_MS = 60_000;
/** Kinds that are told apart in an interval. More of them, from as many addresses, are told together. */
const KINDS = 256;

/** The key of everything beyond that. No reason is empty. */
const OTHERS = '';

interface CoalescedKind {
  readonly level: LogMethod;
  readonly text: string;
  /** Of the last one. */
  facts: CoalescedFacts;
  more: number;
}

export class CoalescedLog {
  readonly #options: CoalescedOptions;
  readonly #kinds = new Map<string, CoalescedKind>();

  constructor(options: CoalescedOptions) {
    this.#options = options;
  }

  /** `key` is what must be equal for two of these to be told together: the reason, and the address or principal. */
  tell(level: LogMethod, key: string, facts: CoalescedFacts, text: string, count = 1): void {
    const known = this.#kinds.get(key);
    if (known !== undefined) {
      known.more += count;
      known.facts = facts;
      return;
    }
    if (this.#kinds.size >= (this.#options.kinds ?? KINDS) && key !== OTHERS) {
      this.tell(level, OTHERS, {}, 'more events like these came from many sources', count);
      return;
    }
    this.#options.log[level](facts, text);
    const kind: CoalescedKind = { level, text, facts, more: count - 1 };
    this.#kinds.set(key, kind);
    this.#wait(key, kind);
  }

  #wait(key: string, kind: CoalescedKind): void {
    const { log, after, intervalMs = INTERVAL_MS } = this.#options;
    after(intervalMs, () => {
      const { more } = kind;
      if (more === 0) {
        this.#kinds.delete(key);
        return;
      }
      kind.more = 0;
      log[kind.level]({ ...kind.facts, more }, `${kind.text} (${more} more in the last ${intervalMs / 1_000} s)`);
      this.#wait(key, kind);
    });
  }
}
