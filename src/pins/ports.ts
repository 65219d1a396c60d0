/** What the gateway knows of pins. What judges them is loaded only where pins are configured. */
import type { PinClass } from './classify.ts';
import type { PinKind, PinnedThing } from './pin.ts';

export const pinModes = ['hold', 'warn'] as const;
export type PinMode = (typeof pinModes)[number];

export interface PinSettings {
  /** The absolute path. */
  readonly file: string;
  readonly mode: PinMode;
  /** What the file says, or why it cannot be used. */
  readonly content: { readonly text: string } | { readonly problem: string; readonly isMissing?: true };
}

/** Something that a backend offers, and that is not as it was pinned. */
export interface PinChange extends PinnedThing {
  /** Empty where the pin file cannot be used. */
  readonly classes: readonly PinClass[];
  /** Of what is offered. Absent where it cannot be pinned, or is not known. */
  readonly hash?: string | undefined;
}

export interface OfferedEntry {
  /** The backend's own name. */
  readonly key: string;
  readonly bytes: Uint8Array;
}

export interface PinGuard {
  /** The config that it was made for: another one for other pins. */
  readonly since: number;
  readonly mode: PinMode;
  readonly file: string;
  /** Why the pin file cannot be used. Nothing counts as pinned then. */
  readonly problem: string | undefined;
  /** The changes that were found since the pin file was read, up to a bound; those of each backend in turn. */
  readonly changes: readonly PinChange[];
  /** The number of all changes that were found. */
  readonly changeCount: number;
  /** The names of those entries of a backend's list that are held. Empty in `warn` mode. */
  heldIn(backend: string, kind: PinKind, entries: readonly OfferedEntry[]): ReadonlySet<string>;
  /** Why a thing is held that a client names. `entries`: the backend's list of such things. */
  holding(thing: PinnedThing, entries: readonly OfferedEntry[]): PinChange | undefined;
  /** Whether the instructions of a backend are held. */
  holdsInstructions(backend: string, instructions: string): boolean;
}

/** The kind of a list's entries. Resources are not pinned: they are data. */
export const pinnedLists: Readonly<Record<string, PinKind | undefined>> = {
  tools: 'tool',
  prompts: 'prompt',
  resourceTemplates: 'template',
};
