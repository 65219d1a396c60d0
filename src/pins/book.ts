/**
 * Judges what backends offer by the pins. It never changes a pin: only `bascule pins approve` does. A pin file that
 * cannot be read pins nothing, so that everything is held.
 */
import { classify, type PinClass } from './classify.ts';
import { PinFileError, readPinFile } from './file.ts';
import { hashOf, keyOf, type Pin, type PinDigest, type PinKind, type PinnedThing, pinsByThing } from './pin.ts';
import type { OfferedEntry, PinChange, PinGuard, PinMode, PinSettings } from './ports.ts';
import { readPinValue } from './read-value.ts';
import { ToldChanges } from './told-changes.ts';
import { type PinValue, Unpinnable } from './value.ts';

export interface PinBookOptions {
  /** The number of the config. */
  readonly since: number;
  readonly digest: PinDigest;
  /** Is told of each change once. */
  readonly found: (change: PinChange, mode: PinMode) => void;
  /** Is told once that further changes of a backend are not told of. */
  readonly silenced: (backend: string) => void;
}

const none: ReadonlySet<string> = new Set();

export class PinBook implements PinGuard {
  readonly since: number;
  readonly mode: PinMode;
  readonly file: string;
  readonly problem: string | undefined;
  readonly #options: PinBookOptions;
  /** By thing. Several where the thing has several forms. */
  #pins: ReadonlyMap<string, readonly Pin[]> = new Map();
  readonly #found: ToldChanges;
  /** Entries that were judged, by their bytes: a cached list is judged for each call. Null: as pinned. */
  readonly #judged = new WeakMap<Uint8Array, PinChange | null>();

  constructor({ file, mode, content }: PinSettings, options: PinBookOptions) {
    this.since = options.since;
    this.file = file;
    this.mode = mode;
    this.#options = options;
    const { digest, silenced } = options;
    this.#found = new ToldChanges({ digest, silenced, found: (change) => options.found(change, mode) });
    this.problem = 'problem' in content ? content.problem : this.#read(content.text);
  }

  #read(text: string): string | undefined {
    try {
      this.#pins = pinsByThing(readPinFile(text, this.#options.digest));
      return undefined;
    } catch (error) {
      if (!(error instanceof PinFileError)) throw error;
      return error.message;
    }
  }

  get changes(): readonly PinChange[] {
    return this.#found.kept;
  }

  get changeCount(): number {
    return this.#found.count;
  }

  heldIn(backend: string, kind: PinKind, entries: readonly OfferedEntry[]): ReadonlySet<string> {
    const changed = entries.filter((entry) => this.#judgeEntry(backend, kind, entry) !== undefined);
    return this.mode === 'warn' ? none : new Set(changed.map(({ key }) => key));
  }

  holding(thing: PinnedThing, entries: readonly OfferedEntry[]): PinChange | undefined {
    if (this.mode === 'warn') return undefined;
    const offered = entries.filter(({ key }) => key === thing.name);
    for (const entry of offered) {
      const change = this.#judgeEntry(thing.backend, thing.kind, entry);
      if (change !== undefined) return change;
    }
    // A backend may run what it does not list.
    if (offered.length > 0 || this.#pins.has(keyOf(thing))) return undefined;
    return { ...thing, classes: this.problem === undefined ? ['new'] : [] };
  }

  holdsInstructions(backend: string, instructions: string): boolean {
    const read = () => readPinValue(Buffer.from(JSON.stringify(instructions)));
    return this.#judge({ backend, kind: 'instructions', name: '' }, read) !== undefined && this.mode === 'hold';
  }

  #judgeEntry(backend: string, kind: PinKind, { key, bytes }: OfferedEntry): PinChange | undefined {
    const known = this.#judged.get(bytes);
    if (known !== undefined) return known ?? undefined;
    const change = this.#judge({ backend, kind, name: key }, () => readPinValue(bytes));
    this.#judged.set(bytes, change ?? null);
    return change;
  }

  /** The change, where the value is not as it was pinned. */
  #judge(thing: PinnedThing, read: () => PinValue): PinChange | undefined {
    const { backend, kind, name } = thing;
    if (this.problem !== undefined) return { backend, kind, name, classes: [] };
    let value: PinValue;
    try {
      value = read();
    } catch (error) {
      if (!(error instanceof Unpinnable)) throw error;
      return this.#changed({ backend, kind, name, classes: ['unpinnable'] });
    }
    const hash = hashOf(value, this.#options.digest);
    const pins = this.#pins.get(keyOf(thing)) ?? [];
    if (pins.some((pin) => pin.hash === hash)) return undefined;
    const classes = this.#found.classesOf({ backend, kind, name, hash }) ?? changeClasses(kind, pins, value);
    return this.#changed({ backend, kind, name, hash, classes });
  }

  #changed(change: PinChange): PinChange {
    this.#found.add(change);
    return change;
  }
}

/** Beside the pin that it differs from least, where there are several. */
export function changeClasses(kind: PinKind, pins: readonly Pin[], value: PinValue): readonly PinClass[] {
  const [first, ...others] = pins.map((pin) => classify(kind, pin.value, value)).sort((a, b) => a.length - b.length);
  return first === undefined && others.length === 0 ? ['new'] : (first ?? []);
}
