/** The requests in flight of one client. */
import type { Id } from '../wire/message.ts';
import type { Exchange } from './exchange.ts';
import { LinkedList, type ListMember } from './linked-list.ts';

/** The place of an exchange among those in flight: the exchange itself may be in another list. */
export class InflightPlace implements ListMember<InflightPlace> {
  previous: InflightPlace | undefined = undefined;
  next: InflightPlace | undefined = undefined;
  list: LinkedList<ListMember> | undefined = undefined;
  readonly exchange: Exchange;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }
}

/**
 * The requests in flight of one client. Two may share an id: each gets its own response, and a cancellation of that id
 * cancels neither.
 */
export class Inflight {
  readonly #places = new LinkedList<InflightPlace>();
  #whenEmpty: (() => void) | undefined;

  get size(): number {
    return this.#places.size;
  }

  add(exchange: Exchange): void {
    exchange.place = new InflightPlace(exchange);
    this.#places.add(exchange.place);
  }

  remove(exchange: Exchange): void {
    if (exchange.place === undefined || !this.#places.remove(exchange.place)) return;
    exchange.place = undefined;
    if (this.#places.size === 0) this.#whenEmpty?.();
  }

  /** Calls `action` when there are none; at once where that is so. */
  onEmpty(action: () => void): void {
    if (this.#places.size === 0) action();
    else this.#whenEmpty = action;
  }

  /** The exchange with that id, where there is exactly one. There are few at a time: they are searched. */
  only(id: Id): Exchange | undefined {
    const same = this.all().filter(({ request }) => request.id.key === id.key);
    return same.length === 1 ? same[0] : undefined;
  }

  all(): readonly Exchange[] {
    return this.#places.members().map(({ exchange }) => exchange);
  }
}
