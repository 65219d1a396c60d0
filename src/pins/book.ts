/**
 * Judges what backends offer by the pins. It never changes a pin: only `bascule pins approve` does. A pin file that
 * cannot be read pins nothing, so that everything is held.
 */
import { classify, type PinClass } from './classify.ts';
import { PinFileError, readPinFile } from './file.ts';
import { hashOf, keyOf, type Pin, type PinDigest, type PinKind, type PinnedThing, pinsByThing } from './pin.ts';
import type { OfferedEntry, PinChange, PinGuard, PinMode, PinSettings } from './ports.ts';
import { canonicalText, type PinValue, readPinValue, Unpinnable } from './value.ts';

export interface PinBookOptions {
  /** The number of the config. */
  readonly since: number;
  readonly digest: PinDigest;
  /** Is told of each change once. */
  readonly found: (change: PinChange, mode: PinMode) => void;
}

/** Changes that are kept for people, and their size. A backend can make up any number. */
const CHANGES = 1_000;
const CHANGES_CHARACTERS = 4 * 1024 * 1024;
/** Changes that are told of: the same one is told of once. */
const TOLD = 10_000;
const none: ReadonlySet<string> = new Set();

export class PinBook implements PinGuard {
  readonly since: number;
  readonly mode: PinMode;
  readonly file: string;
  readonly problem: string | undefined;
  readonly #options: PinBookOptions;
  /** By thing. Several where the thing has several forms. */
  #pins: ReadonlyMap<string, readonly Pin[]> = new Map();
  readonly #told = new Set<string>();
  readonly #changes: PinChange[] = [];
  #characters = 0;

  constructor({ file, mode, content }: PinSettings, options: PinBookOptions) {
    this.since = options.since;
    this.file = file;
    this.mode = mode;
    this.#options = options;
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
    return this.#changes;
  }

  get changeCount(): number {
    return this.#told.size;
  }

  heldIn(backend: string, kind: PinKind, entries: readonly OfferedEntry[]): ReadonlySet<string> {
    const changed = entries.filter(({ key, bytes }) =>
      this.#judge({ backend, kind, name: key }, () => readPinValue(bytes)),
    );
    return this.mode === 'warn' ? none : new Set(changed.map(({ key }) => key));
  }

  holding(thing: PinnedThing, entries: readonly OfferedEntry[]): PinChange | undefined {
    if (this.mode === 'warn') return undefined;
    const offered = entries.filter(({ key }) => key === thing.name);
    for (const { bytes } of offered) {
      const change = this.#judge(thing, () => readPinValue(bytes));
      if (change !== undefined) return change;
    }
    // A backend may run what it does not list.
    if (offered.length > 0 || this.#pins.has(keyOf(thing))) return undefined;
    return { ...thing, classes: this.problem === undefined ? ['new'] : [] };
  }

  holdsInstructions(backend: string, instructions: string): boolean {
    return (
      this.#judge({ backend, kind: 'instructions', name: '' }, () => instructions) !== undefined && this.mode === 'hold'
    );
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
    return this.#changed({
      ...{ backend, kind, name, hash },
      classes: changeClasses(kind, pins, value),
      offered: { backend, kind, name, hash, value },
    });
  }

  #changed(change: PinChange): PinChange {
    const id = this.#options.digest(`${change.hash ?? ''} ${keyOf(change)}`);
    if (this.#told.has(id) || this.#told.size >= TOLD) return change;
    this.#told.add(id);
    const size = change.name.length + (change.offered === undefined ? 0 : canonicalText(change.offered.value).length);
    if (this.#changes.length < CHANGES && this.#characters + size <= CHANGES_CHARACTERS) {
      this.#changes.push(change);
      this.#characters += size;
    }
    this.#options.found(change, this.mode);
    return change;
  }
}

/** Beside the pin that it differs from least, where there are several. */
export function changeClasses(kind: PinKind, pins: readonly Pin[], value: PinValue): readonly PinClass[] {
  const [first, ...others] = pins.map((pin) => classify(kind, pin.value, value)).sort((a, b) => a.length - b.length);
  return first === undefined && others.length === 0 ? ['new'] : (first ?? []);
}
