/**
 * Finds which of many texts occur in a name, in one pass over the name, however many texts there are: the automaton of
 * A. Aho and M. Corasick, "Efficient string matching", 1975. Built once per policy.
 */
interface TrieNode<Item> {
  readonly next: Map<number, TrieNode<Item>>;
  readonly items: Item[];
  /** The node of the longest proper suffix that is also in the trie: where to continue if no child matches. */
  otherwise: TrieNode<Item> | undefined;
  /** The nearest node on the chain of `otherwise` where a text ends. */
  ending: TrieNode<Item> | undefined;
}

export class Literals<Item> {
  readonly #root: TrieNode<Item> = newPlace();

  constructor(entries: readonly { readonly text: string; readonly item: Item }[]) {
    for (const { text, item } of entries) this.#add(text, item);
    this.#connect();
  }

  /** Some items may be found twice. */
  find(name: string, into: Item[]): void {
    const root = this.#root;
    if (root.next.size === 0) return;
    let place = root;
    for (let at = 0; at < name.length; at++) {
      const code = name.charCodeAt(at);
      let following = place.next.get(code);
      while (following === undefined && place.otherwise !== undefined) {
        place = place.otherwise;
        following = place.next.get(code);
      }
      place = following ?? root;
      for (let end: typeof place.ending = place; end !== undefined; end = end.ending) {
        for (const item of end.items) into.push(item);
      }
    }
  }

  #add(text: string, item: Item): void {
    let place = this.#root;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const following = place.next.get(code) ?? newPlace();
      place.next.set(code, following);
      place = following;
    }
    place.items.push(item);
  }

  /** Breadth first: what a node needs is nearer to the root. */
  #connect(): void {
    const root = this.#root;
    let level: readonly TrieNode<Item>[] = [root];
    while (level.length > 0) {
      const below: TrieNode<Item>[] = [];
      for (const place of level) {
        for (const [code, following] of place.next) {
          const otherwise = place === root ? root : fallback(place, code, root);
          following.otherwise = otherwise;
          following.ending = otherwise.items.length > 0 ? otherwise : otherwise.ending;
          below.push(following);
        }
      }
      level = below;
    }
  }
}

function fallback<Item>(place: TrieNode<Item>, code: number, root: TrieNode<Item>): TrieNode<Item> {
  for (let other = place.otherwise; other !== undefined; other = other.otherwise) {
    const following = other.next.get(code);
    if (following !== undefined) return following;
  }
  return root;
}

function newPlace<Item>(): TrieNode<Item> {
  return { next: new Map(), items: [], otherwise: undefined, ending: undefined };
}
