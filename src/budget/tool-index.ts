/** Ranks the tools of one list by what they say of themselves, with BM25. Loaded only where a budget is configured. */
import { LONGEST_QUERY } from './find-tools.ts';
import { firstSentence } from './stub.ts';
import { inverseFrequency, type Postings, WeightedIndex } from './weighted-index.ts';
import { meaningsOf, wordsIn } from './words.ts';

/** What a tool is found by. */
export interface SearchedTool {
  /** As the endpoint's clients call it. */
  readonly name: string;
  readonly backend: string;
  /** What the backend calls it. */
  readonly own: string;
  readonly title: string;
  readonly description: string;
  /** Names and descriptions of the arguments. */
  readonly parameters: string;
}

/** The words of a question that are looked up. */
const MOST_TERMS = 24;
/** Entries that are indexed before the process does something else. */
const CHUNK = 25;
/** The beginning of a description says what a tool does; the rest says what it does not do, and how to call it. */
const DESCRIPTION = 600;
const PARAMETERS = 2_000;

/**
 * `meant...`: the meanings of the words there. docs/budget.md says how all numbers here were found.
 */
const fields = {
  name: 1.5,
  backend: 3.5,
  lead: 1.3,
  description: 0.5,
  parameters: 0.9,
  meantName: 4.4,
  meantLead: 4.4,
  meantDescription: 0.35,
};
type Field = keyof typeof fields;
const bm25 = { k: 1.9, b: 0.9, d: 0.25 };
/** A question that names a backend is about its tools. */
const NAMED_BACKEND = 4.7;
/** A backend whose tools together have the words of the question is preferred. */
const FITTING_BACKEND = 1.7;
/** How much the part of the question counts that a tool covers. */
const COVERED = 0.35;
/** A tool that matches more words is preferred to one that matches a single word often. */
const MATCHED = 0.54;
/** A word that no tool has, and one that only a meaning matches. */
const UNKNOWN = 0.9;
const MEANT = 0.5;
/** A tool has to cover this much of the question. */
const LEAST_COVERED = 0.2;

export class ToolIndex {
  readonly #tools: readonly SearchedTool[];
  readonly #index = new WeightedIndex(fields, bm25);
  /** Words by their first letter and their length. */
  readonly #spellings = new Map<string, Set<string>>();
  /** By lower-case name, the client's and the backend's own. */
  readonly #named = new Map<string, number[]>();
  /** How many tools have a word, and which backends. */
  readonly #frequency = new Map<string, number>();
  readonly #backendsWith = new Map<string, Set<string>>();
  readonly #backendsNamed = new Map<string, Set<string>>();
  readonly #backends: ReadonlySet<string>;

  private constructor(tools: readonly SearchedTool[]) {
    this.#tools = tools;
    this.#backends = new Set(tools.map(({ backend }) => backend));
    for (const backend of this.#backends) for (const word of wordsIn(backend)) add(this.#backendsNamed, word, backend);
  }

  /** Other work of the process goes on meanwhile. */
  static async of(tools: readonly SearchedTool[]): Promise<ToolIndex> {
    const index = new ToolIndex(tools);
    for (let start = 0; start < tools.length; start += CHUNK) {
      for (let id = start; id < Math.min(start + CHUNK, tools.length); id++) index.#add(id);
      await new Promise(setImmediate);
    }
    await index.#index.finish();
    return index;
  }

  #add(id: number): void {
    const tool = this.#tools[id] as SearchedTool;
    const name = wordsIn(`${tool.own} ${tool.title}`);
    const lead = wordsIn(firstSentence(tool.description));
    const description = wordsIn(tool.description.slice(0, DESCRIPTION));
    const words: Readonly<Record<Field, readonly string[]>> = {
      ...{ name, lead, description },
      backend: wordsIn(tool.backend),
      parameters: wordsIn(tool.parameters.slice(0, PARAMETERS)),
      meantName: meaningsIn(name),
      meantLead: meaningsIn(lead),
      meantDescription: meaningsIn(description),
    };
    for (const word of new Set(Object.values(words).flat())) {
      this.#frequency.set(word, (this.#frequency.get(word) ?? 0) + 1);
      add(this.#backendsWith, word, tool.backend);
      add(this.#spellings, spellingKey(word, word.length), word);
    }
    this.#index.add(id, words);
    for (const known of new Set([tool.name, tool.own].map((one) => one.toLowerCase())))
      this.#named.set(known, [...(this.#named.get(known) ?? []), id]);
  }

  /** Positions in the list, the best first: exact names, then what ranks high enough. */
  find(query: string, most: number): readonly number[] {
    const text = query.slice(0, LONGEST_QUERY);
    const names = namesIn(text);
    const exact = [...new Set(names.flatMap((name) => this.#named.get(name) ?? []))];
    // A question of names alone wants these tools and no others.
    if (exact.length >= most || (exact.length > 0 && names.length === wordCount(text))) return exact.slice(0, most);
    return [...new Set([...exact, ...this.#ranked(text)])].slice(0, most);
  }

  #ranked(text: string): number[] {
    const terms = [
      ...new Set([...new Set(wordsIn(text))].slice(0, MOST_TERMS).flatMap((word) => this.#corrected(word))),
    ];
    if (terms.length === 0) return [];
    const weights = new Map(terms.map((term) => [term, this.#weight(term)]));
    const total = sum(weights.values());
    const named = new Set(terms.flatMap((term) => [...(this.#backendsNamed.get(term) ?? [])]));
    const fitting = this.#fitting(terms);
    const sums = new Sums(this.#tools.length);
    for (const term of terms) sums.add(this.#index.of(term), weights.get(term) ?? 0);
    for (const meaning of meaningsIn(terms)) sums.add(this.#index.of(meaning), 0);
    for (const term of terms) this.#coverByMeaning(sums, term, MEANT * (weights.get(term) ?? 0));
    const scored = sums.found().flatMap((id) => {
      const { backend } = this.#tools[id] as SearchedTool;
      const covered = sums.covered(id) / total;
      if (covered < LEAST_COVERED) return [];
      const isNamed = named.has(backend) ? NAMED_BACKEND : 1;
      return [{ id, score: sums.score(id) * covered ** COVERED * isNamed * (fitting.get(backend) ?? 1) }];
    });
    return scored.sort((a, b) => b.score - a.score || a.id - b.id).map(({ id }) => id);
  }

  #coverByMeaning(sums: Sums, term: string, weight: number): void {
    const meant = meaningsOf(term);
    if (meant.length === 0) return;
    const covered = new Set(this.#index.of(term)?.ids);
    for (const meaning of meant) {
      for (const id of this.#index.of(meaning)?.ids ?? []) {
        if (covered.has(id)) continue;
        covered.add(id);
        sums.cover(id, weight);
      }
    }
  }

  /** The word, or those that differ from it in one letter where no tool has it. */
  #corrected(word: string): readonly string[] {
    if (this.#frequency.has(word) || word.length < LEAST_CORRECTED) return [word];
    const lengths = [word.length - 1, word.length, word.length + 1];
    const alike = lengths.flatMap((length) => [...(this.#spellings.get(spellingKey(word, length)) ?? [])]);
    const near = alike.filter((known) => isNear(known, word));
    return near.length === 0 ? [word] : near;
  }

  #fitting(terms: readonly string[]): ReadonlyMap<string, number> {
    const weights = terms.map((term) => inverseFrequency(this.#backends.size, this.#backendsWith.get(term)?.size ?? 0));
    const total = sum(weights) || 1;
    const fits = [...this.#backends].map((backend): [string, number] => {
      const has = sum(weights.filter((_weight, at) => this.#backendsWith.get(terms[at] as string)?.has(backend)));
      return [backend, 1 + (FITTING_BACKEND * has) / total];
    });
    return new Map(fits);
  }

  #weight(term: string): number {
    const found = this.#frequency.get(term);
    return inverseFrequency(this.#tools.length, found ?? 0) * (found === undefined ? UNKNOWN : 1);
  }
}

const LEAST_CORRECTED = 5;

/** What each tool has scored for a question. */
class Sums {
  readonly #scores: Float64Array;
  readonly #covered: Float64Array;
  readonly #matched: Uint16Array;

  constructor(size: number) {
    this.#scores = new Float64Array(size);
    this.#covered = new Float64Array(size);
    this.#matched = new Uint16Array(size);
  }

  add(postings: Postings | undefined, weight: number): void {
    if (postings === undefined) return;
    const { ids, scores } = postings;
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] as number;
      this.#scores[id] = (this.#scores[id] as number) + (scores[at] as number);
      this.#matched[id] = (this.#matched[id] as number) + 1;
      this.#covered[id] = (this.#covered[id] as number) + weight;
    }
  }

  cover(id: number, weight: number): void {
    this.#covered[id] = (this.#covered[id] as number) + weight;
  }

  found(): number[] {
    const ids: number[] = [];
    for (let id = 0; id < this.#scores.length; id++) if (this.#matched[id] !== 0) ids.push(id);
    return ids;
  }

  score(id: number): number {
    return (this.#scores[id] as number) * (this.#matched[id] as number) ** MATCHED;
  }

  covered(id: number): number {
    return this.#covered[id] as number;
  }
}

function spellingKey(word: string, length: number): string {
  return `${word[0]}${length}`;
}

/** Whether one letter was changed, left out, added, or swapped with the next. */
function isNear(a: string, b: string): boolean {
  if (a.length > b.length) return isNear(b, a);
  if (b.length - a.length > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  if (a.length < b.length) return restA === restB.slice(1);
  if (restA.slice(1) === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}

function meaningsIn(words: readonly string[]): readonly string[] {
  return [...new Set(words.flatMap(meaningsOf))];
}

/** What a question could spell as a name: a word that is more than a plain word, or stands alone. */
function namesIn(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[^\s,;"'`()]+/g) ?? [];
  return words.length === 1 ? words : words.filter((word) => /[_\-./]/.test(word));
}

function wordCount(text: string): number {
  return text.match(/[^\s,;"'`()]+/g)?.length ?? 0;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

function add(to: Map<string, Set<string>>, key: string, value: string): void {
  const known = to.get(key);
  if (known === undefined) to.set(key, new Set([value]));
  else known.add(value);
}
