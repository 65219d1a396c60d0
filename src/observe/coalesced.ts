/**
 * Log lines about events that unauthenticated clients can cause at will: the first of a kind at once, then one line per
 * interval with the number of further ones. So a flood is visible, but does not flood the log.
 */
import type { Log, LogFacts, LogMethod } from './log.ts';

export interface CoalescedOptions {
  readonly log: Log;
  readonly after: (ms: number, action: () => void) => () => void;
  readonly intervalMs?: number;
  readonly kinds?: number;
}

/** Soon enough for a person who watches, rare enough for a day's log. */
const INTERVAL_MS = 60_000;
/** Kinds that are counted separately in an interval. Further ones, from as many addresses, are counted together. */
const KINDS = 256;

/** The key of all kinds beyond that limit. No reason is empty. */
const OTHERS = '';

interface CoalescedKind {
  readonly level: LogMethod;
  readonly text: string;
  /** Of the last event. */
  facts: LogFacts;
  more: number;
}

export class CoalescedLog {
  readonly #options: CoalescedOptions;
  readonly #kinds = new Map<string, CoalescedKind>();

  constructor(options: CoalescedOptions) {
    this.#options = options;
  }

  /** Events with the same `key` are counted together: the reason, and the address or principal. */
  tell(level: LogMethod, key: string, facts: LogFacts, text: string, count = 1): void {
    const known = this.#kinds.get(key);
    if (known !== undefined) {
      known.more += count;
      known.facts = facts;
      return;
    }
    if (this.#kinds.size >= (this.#options.kinds ?? KINDS) && key !== OTHERS) {
      this.tell(level, OTHERS, {}, 'more events of this kind came from many sources', count);
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
