/**
 * A bounded queue for several principals: each has its own order, and they take turns. One principal alone may fill all
 * of it. When it is full, a principal with fewer entries displaces the last entry of the one with most.
 */
export class FairQueue<T> {
  readonly #most: number;
  /** In the order of their turns. */
  readonly #queues = new Map<string, T[]>();
  /** How many entries wait. Changed here alone; a field, because every request reads it. */
  size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The number of principals that have entries. */
  get holders(): number {
    return this.#queues.size;
  }

  /** Returns the item for which there is no room: a displaced one, this one, or undefined where all have room. */
  push(key: string, item: T): T | undefined {
    const displaced = this.size < this.#most ? undefined : this.#displacedBy(key);
    if (this.size >= this.#most) return item;
    const own = this.#queues.get(key);
    if (own === undefined) this.#queues.set(key, [item]);
    else own.push(item);
    this.size++;
    return displaced;
  }

  /** The item whose turn is next. */
  peek(): T | undefined {
    const [first] = this.#queues.values();
    return first?.[0];
  }

  shift(): T | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [key, queue] = first;
    const item = queue.shift();
    this.size--;
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    return item;
  }

  /** Returns whether the item was still waiting. */
  remove(key: string, item: T): boolean {
    const queue = this.#queues.get(key);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at === -1) return false;
    queue.splice(at, 1);
    this.size--;
    if (queue.length === 0) this.#queues.delete(key);
    return true;
  }

  /** Empties the queue, and returns its items. */
  drain(): T[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.size = 0;
    return all;
  }

  /** Displaces an item of a principal with at least two more: with one more, they would only change places. */
  #displacedBy(key: string): T | undefined {
    let longest: { readonly key: string; readonly queue: T[] } | undefined;
    for (const [other, queue] of this.#queues) {
      if (longest === undefined || queue.length > longest.queue.length) longest = { key: other, queue };
    }
    const own = this.#queues.get(key)?.length ?? 0;
    if (longest === undefined || longest.key === key || longest.queue.length < own + 2) return undefined;
    const displaced = longest.queue.pop();
    this.size--;
    return displaced;
  }
}
