/**
 * A bounded queue of several principals: each of them has its own order, and they take turns. One alone may fill all of
 * it; when it is full, a principal with fewer entries displaces the last entry of the one with most.
 */
export class FairQueue<T> {
  readonly #most: number;
  /** In the order of their turns. */
  readonly #queues = new Map<string, T[]>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Principals that have something in it. */
  get holders(): number {
    return this.#queues.size;
  }

  /** Returns the one for which there is no room: another one, this one, or undefined where there is room for all. */
  push(key: string, item: T): T | undefined {
    const displaced = this.#size < this.#most ? undefined : this.#displacedBy(key);
    if (this.#size >= this.#most) return item;
    const own = this.#queues.get(key);
    if (own === undefined) this.#queues.set(key, [item]);
    else own.push(item);
    this.#size++;
    return displaced;
  }

  /** The one whose turn is next. */
  peek(): T | undefined {
    const [first] = this.#queues.values();
    return first?.[0];
  }

  shift(): T | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [key, queue] = first;
    const item = queue.shift();
    this.#size--;
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    return item;
  }

  /** Whether it was still waiting. */
  remove(key: string, item: T): boolean {
    const queue = this.#queues.get(key);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at === -1) return false;
    queue.splice(at, 1);
    this.#size--;
    if (queue.length === 0) this.#queues.delete(key);
    return true;
  }

  /** Empties it. */
  drain(): T[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }

  /** Makes room where another one has at least two more: with fewer they would only change places. */
  #displacedBy(key: string): T | undefined {
    let longest: { readonly key: string; readonly queue: T[] } | undefined;
    for (const [other, queue] of this.#queues) {
      if (longest === undefined || queue.length > longest.queue.length) longest = { key: other, queue };
    }
    const own = this.#queues.get(key)?.length ?? 0;
    if (longest === undefined || longest.key === key || longest.queue.length < own + 2) return undefined;
    const displaced = longest.queue.pop();
    this.#size--;
    return displaced;
  }
}
