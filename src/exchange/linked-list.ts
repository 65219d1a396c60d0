/**
 * A list in order of arrival whose members carry the links. Use it for what comes and goes with every request: adding
 * and removing allocate nothing, and a removed member is garbage at once. A `Set` or `Map` that churns keeps its
 * outgrown tables, and through them removed members, until a major collection.
 */

/** What a member carries. The list manages these fields, and clears them on removal. */
export interface ListMember<T = object> {
  previous?: T | undefined;
  next?: T | undefined;
  /** The list that the member is in: one at a time. */
  list?: LinkedList<ListMember> | undefined;
}

export class LinkedList<T extends ListMember> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get first(): T | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a member at the end. One that is already in this list moves there. */
  add(member: T): void {
    if (member.list !== undefined) member.list.remove(member);
    member.list = this;
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#size++;
  }

  /** Returns whether it was in this list. */
  remove(member: T): boolean {
    if (member.list !== this) return false;
    const previous = member.previous as T | undefined;
    const next = member.next as T | undefined;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.previous = undefined;
    member.next = undefined;
    member.list = undefined;
    this.#size--;
    return true;
  }

  /** The first member that fulfils the condition. */
  find(condition: (member: T) => boolean): T | undefined {
    let member = this.#first;
    while (member !== undefined && !condition(member)) member = member.next as T | undefined;
    return member;
  }

  /** A copy: members may be added and removed while it is read. */
  members(): T[] {
    const members: T[] = [];
    for (let member = this.#first; member !== undefined; member = member.next as T | undefined) members.push(member);
    return members;
  }

  clear(): void {
    while (this.#first !== undefined) this.remove(this.#first);
  }
}
