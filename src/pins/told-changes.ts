/** The changes that were found since the pins were read: each is told of once. Bounded for each backend. */
import type { PinClass } from './classify.ts';
import { keyOf, type PinDigest, type PinnedThing } from './pin.ts';
import type { PinChange } from './ports.ts';

/** Changes of a backend that are told of. A backend can make up any number. */
const TOLD = 2_000;
/** Of those, the ones that are kept for people: their number, and the characters of their names. */
const KEPT = 500;
const KEPT_CHARACTERS = 64 * 1024;

interface BackendChanges {
  /** The classes, by what `idOf` returns. */
  readonly told: Map<string, readonly PinClass[]>;
  readonly kept: PinChange[];
  characters: number;
  isSilenced: boolean;
}

export interface ToldChangesOptions {
  readonly digest: PinDigest;
  /** Is told of each change once. */
  readonly found: (change: PinChange) => void;
  /** Is told once that further changes of a backend are not told of. */
  readonly silenced: (backend: string) => void;
}

export class ToldChanges {
  readonly #options: ToldChangesOptions;
  readonly #backends = new Map<string, BackendChanges>();

  constructor(options: ToldChangesOptions) {
    this.#options = options;
  }

  /** The first of each backend, then the second of each: who shows only some of them shows all backends. */
  get kept(): readonly PinChange[] {
    const numbered = [...this.#backends.values()].flatMap(({ kept }) => kept.map((change, at) => ({ change, at })));
    return numbered.sort((a, b) => a.at - b.at).map(({ change }) => change);
  }

  get count(): number {
    return [...this.#backends.values()].reduce((sum, { told }) => sum + told.size, 0);
  }

  /** The classes of a change that was told of. */
  classesOf(change: Omit<PinChange, 'classes'>): readonly PinClass[] | undefined {
    return this.#backends.get(change.backend)?.told.get(this.#idOf(change));
  }

  add(change: PinChange): void {
    const changes = this.#of(change);
    const id = this.#idOf(change);
    if (changes.told.has(id)) return;
    if (changes.told.size >= TOLD) {
      if (!changes.isSilenced) this.#options.silenced(change.backend);
      changes.isSilenced = true;
      return;
    }
    changes.told.set(id, change.classes);
    const { length } = change.name;
    if (changes.kept.length < KEPT && changes.characters + length <= KEPT_CHARACTERS) {
      changes.kept.push(change);
      changes.characters += length;
    }
    this.#options.found(change);
  }

  #of({ backend }: PinnedThing): BackendChanges {
    const known = this.#backends.get(backend);
    if (known !== undefined) return known;
    const made: BackendChanges = { told: new Map(), kept: [], characters: 0, isSilenced: false };
    this.#backends.set(backend, made);
    return made;
  }

  /** Of one length, whatever the length of the name. */
  #idOf(change: Omit<PinChange, 'classes'>): string {
    return this.#options.digest(`${change.hash ?? ''} ${keyOf(change)}`);
  }
}
