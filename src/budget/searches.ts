/**
 * Searches over lists, one after the other: callers take turns, so one that asks without end makes only itself wait.
 * Indexes are kept by the version of their list, so callers that see the same share one. Loaded at the first search.
 */
import type { ListedEntry } from '../catalog/view.ts';
import { FairQueue } from '../exchange/fair-queue.ts';
import { isObject, valueAt } from '../wire/values.ts';
import { parameterText } from './parameters.ts';
import { type SearchedTool, ToolIndex } from './tool-index.ts';

export interface SearchedList {
  readonly version: string;
  readonly places: readonly ListedEntry[];
}

/** Tools in all indexes together: an index takes some ten kilobytes for each. */
const TOOLS_KEPT = 20_000;
const MOST_WAITING = 256;

type FoundTools = readonly ListedEntry[] | 'busy';

interface WaitingSearch {
  run(): Promise<void>;
  refuse(): void;
}

class Searches {
  /** In order of use. */
  readonly #indexes = new Map<string, { readonly index: Promise<ToolIndex>; readonly size: number }>();
  readonly #waiting = new FairQueue<WaitingSearch>(MOST_WAITING);
  #isRunning = false;

  /** `busy`: more searches wait than there is room for, and most of them are this caller's. */
  find(caller: string, list: SearchedList, query: string, most: number, signal: AbortSignal): Promise<FoundTools> {
    return new Promise((resolve, reject) => {
      const search: WaitingSearch = {
        run: async () => {
          if (signal.aborted) return resolve([]);
          try {
            const index = await this.#indexOf(list);
            resolve(index.find(query, most).map((at) => list.places[at] as ListedEntry));
          } catch (error) {
            reject(error);
          }
        },
        refuse: () => resolve('busy'),
      };
      this.#waiting.push(caller, search)?.refuse();
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Other work of the process goes on between two searches. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await next.run();
      await new Promise(setImmediate);
    }
    this.#isRunning = false;
  }

  #indexOf({ version, places }: SearchedList): Promise<ToolIndex> {
    const known = this.#indexes.get(version);
    this.#indexes.delete(version);
    const kept = known ?? { index: ToolIndex.of(places.map(searchedTool)), size: places.length };
    this.#indexes.set(version, kept);
    let total = [...this.#indexes.values()].reduce((sum, { size }) => sum + size, 0);
    for (const [oldest, { size }] of this.#indexes) {
      if (total <= TOOLS_KEPT || oldest === version) break;
      this.#indexes.delete(oldest);
      total -= size;
    }
    return kept.index;
  }
}

export const searches = new Searches();

function searchedTool({ backend, name, clientName, bytes }: ListedEntry): SearchedTool {
  const entry = valueAt(bytes, { start: 0, end: bytes.byteLength });
  const { title, description, annotations, inputSchema } = isObject(entry) ? entry : {};
  const annotated = isObject(annotations) ? annotations.title : undefined;
  return {
    ...{ name: clientName, own: name, backend },
    title: textOf(title ?? annotated),
    description: textOf(description),
    parameters: parameterText(inputSchema),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
