/**
 * Which process has a session. The one that opened it, which its id names, unless a record in the store names another:
 * one that took it over when the first was gone or leaving.
 */
import type { Digest } from '../catalog/merged-list.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Records } from '../store/ports.ts';

const COLLECTION = 'owner';
/** Clocks of machines may be apart by this much. */
const KEPT_MS = 3600_000;
/** A session that was taken over is here within this time. */
const CONTINUED_MS = 60_000;
/** Sessions of which it is remembered where they were last: those of clients that use this process. */
const REMEMBERED = 20_000;

export interface OwnersPorts {
  readonly records: () => Promise<Records>;
  /** Ids are long, and a reader of the store must not learn them. */
  readonly digest: Digest;
}

export class Owners {
  readonly #own: string;
  readonly #ports: OwnersPorts;
  /** Where sessions were found that are not at the process which opened them. */
  readonly #found = new BoundedMap<string>(REMEMBERED);
  /** Sessions that this process took over, each with the process that had it, and may still answer for old requests. */
  readonly #taken = new Map<string, { readonly from: string; readonly at: number }>();
  /** Sessions here that another process may have taken over meanwhile. */
  readonly #doubtful = new Set<string>();

  constructor(own: string, ports: OwnersPorts) {
    this.#own = own;
    this.#ports = ports;
  }

  /** Undefined: the process that opened it. Rejects with a StoreError. */
  async read(id: string): Promise<string | undefined> {
    return (await this.#ports.records()).get(COLLECTION, this.#ports.digest(id));
  }

  /** Whether another process has taken over a session that is here. Undefined where that cannot be read. */
  async isElsewhere(id: string): Promise<boolean | undefined> {
    try {
      const owner = await this.read(id);
      return owner !== undefined && owner !== this.#own;
    } catch {
      return undefined;
    }
  }

  /**
   * Takes the session over from a process that does not have it any more. `seen`: what `read` returned. False where
   * another process was faster.
   */
  async claim(id: string, seen: string | undefined, from: string, until: number): Promise<boolean> {
    const records = await this.#ports.records();
    if (!(await records.replace(COLLECTION, this.#ports.digest(id), seen, this.#own, until + KEPT_MS))) return false;
    this.#taken.set(id, { from, at: Date.now() });
    this.#doubtful.delete(id);
    this.#found.delete(id);
    return true;
  }

  found(id: string): string | undefined {
    return this.#found.get(id);
  }

  foundAt(id: string, member: string | undefined): void {
    if (member === undefined) this.#found.delete(id);
    else this.#found.set(id, member);
  }

  /** The process that had the session before. */
  previousOf(id: string): string | undefined {
    return this.#taken.get(id)?.from;
  }

  get doubtful(): readonly string[] {
    return [...this.#doubtful];
  }

  isDoubtful(id: string): boolean {
    return this.#doubtful.has(id);
  }

  settle(id: string): void {
    this.#doubtful.delete(id);
  }

  /** This process was cut off, or the store has lost its data. */
  doubt(ids: Iterable<string>): void {
    for (const id of ids) this.#doubtful.add(id);
  }

  get taken(): readonly string[] {
    return [...this.#taken.keys()];
  }

  /** Forgets sessions that have ended. */
  keep(isHere: (id: string) => boolean): void {
    const settled = Date.now() - CONTINUED_MS;
    for (const [id, { at }] of this.#taken) if (at < settled && !isHere(id)) this.#taken.delete(id);
    for (const id of this.#doubtful) if (!isHere(id)) this.#doubtful.delete(id);
  }
}
