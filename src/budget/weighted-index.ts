/**
 * BM25 over documents of several fields. What a word contributes to a document's score depends on nothing in the
 * question, so it is computed once: a search adds numbers up.
 */

export interface Postings {
  readonly ids: Uint32Array;
  readonly scores: Float32Array;
}

interface WordCounts {
  readonly id: number;
  /** How often the word is in each field, by the field's place. */
  readonly counts: Map<number, number>;
}

/** Entries whose scores are computed before the process does something else. */
const CHUNK = 5_000;

export class WeightedIndex<Field extends string> {
  readonly #fields: readonly Field[];
  readonly #boosts: readonly number[];
  readonly #bm25: { readonly k: number; readonly b: number; readonly d: number };
  /** By document and field. */
  readonly #lengths: number[][] = [];
  readonly #entries = new Map<string, WordCounts[]>();
  readonly #postings = new Map<string, Postings>();

  constructor(
    boosts: Readonly<Record<Field, number>>,
    bm25: { readonly k: number; readonly b: number; readonly d: number },
  ) {
    this.#fields = Object.keys(boosts) as Field[];
    this.#boosts = Object.values(boosts);
    this.#bm25 = bm25;
  }

  /** Ids are given in order, from 0 on. */
  add(id: number, words: Readonly<Record<Field, readonly string[]>>): void {
    this.#lengths.push(this.#fields.map((field) => words[field].length));
    this.#fields.forEach((field, place) => {
      for (const word of words[field]) this.#count(word, id, place);
    });
  }

  #count(word: string, id: number, place: number): void {
    const entries = this.#entries.get(word) ?? [];
    if (entries.length === 0) this.#entries.set(word, entries);
    let last = entries.at(-1);
    if (last?.id !== id) {
      last = { id, counts: new Map() };
      entries.push(last);
    }
    last.counts.set(place, (last.counts.get(place) ?? 0) + 1);
  }

  /** Called once, when all documents are there. Other work of the process goes on meanwhile. */
  async finish(): Promise<void> {
    const all = this.#lengths.length;
    const averages = this.#fields.map(
      (_field, place) => this.#lengths.reduce((sum, of) => sum + (of[place] ?? 0), 0) / all,
    );
    let since = 0;
    for (const [word, entries] of this.#entries) {
      since += entries.length;
      if (since > CHUNK) {
        await new Promise(setImmediate);
        since = 0;
      }
      const having: number[] = this.#fields.map(() => 0);
      for (const { counts } of entries) for (const place of counts.keys()) having[place] = (having[place] ?? 0) + 1;
      const rarity = having.map((count) => inverseFrequency(all, count));
      const scores = entries.map(({ id, counts }) => {
        let score = 0;
        for (const [place, count] of counts) score += (rarity[place] ?? 0) * this.#weight(id, place, count, averages);
        return score;
      });
      this.#postings.set(word, {
        ids: Uint32Array.from(entries, ({ id }) => id),
        scores: Float32Array.from(scores),
      });
    }
    this.#entries.clear();
  }

  #weight(id: number, place: number, count: number, averages: readonly number[]): number {
    const { k, b, d } = this.#bm25;
    const length = (this.#lengths[id]?.[place] ?? 0) / (averages[place] || 1);
    return (this.#boosts[place] ?? 0) * (d + (count * (k + 1)) / (count + k * (1 - b + b * length)));
  }

  of(word: string): Postings | undefined {
    return this.#postings.get(word);
  }
}

/** How much a word tells that so many of all documents have. */
export function inverseFrequency(all: number, having: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}
