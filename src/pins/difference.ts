/** What differs between the pins of a file and what backends offer. */
import { changeClasses } from './book.ts';
import type { PinClass } from './classify.ts';
import { keyOf, type Pin, type PinDigest, type PinnedThing, pinsByThing } from './pin.ts';

export interface PinDifference extends PinnedThing {
  readonly classes: readonly PinClass[];
  readonly pinned: readonly Pin[];
  /** Absent where it is gone, or cannot be pinned. */
  readonly offered: Pin | undefined;
}

export interface OfferedThing extends PinnedThing {
  /** Absent where it cannot be pinned. */
  readonly pin: Pin | undefined;
}

/** `read`: the backends whose lists were read. Of the others nothing is known. */
export function differencesOf(
  pins: readonly Pin[],
  offered: readonly OfferedThing[],
  read: ReadonlySet<string>,
): readonly PinDifference[] {
  const byThing = pinsByThing(pins);
  const seen = new Set(offered.map(keyOf));
  // A backend may list a thing twice.
  const each = new Map(offered.map((thing) => [`${thing.pin?.hash ?? ''} ${keyOf(thing)}`, thing]));
  const changed = [...each.values()].flatMap((thing): PinDifference[] => {
    const { backend, kind, name, pin } = thing;
    const pinned = byThing.get(keyOf(thing)) ?? [];
    if (pinned.some(({ hash }) => hash === pin?.hash)) return [];
    const classes = pin === undefined ? (['unpinnable'] as const) : changeClasses(kind, pinned, pin.value);
    return [{ backend, kind, name, classes, pinned, offered: pin }];
  });
  const gone = [...byThing.values()].flatMap((pinned): PinDifference[] => {
    const [first] = pinned;
    if (first === undefined || !read.has(first.backend) || seen.has(keyOf(first))) return [];
    const { backend, kind, name } = first;
    return [{ backend, kind, name, classes: ['gone'], pinned, offered: undefined }];
  });
  return [...changed, ...gone].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** What a reviewer has seen: an approval that names it accepts nothing else. */
export function fingerprint(differences: readonly PinDifference[], digest: PinDigest): string {
  const lines = differences.map((one) => `${JSON.stringify(keyOf(one))} ${one.offered?.hash ?? one.classes.join()}`);
  return digest(lines.join('\n')).slice(0, 32);
}

/** The pins after the approval of these differences. `keepsOld`: a thing keeps its other forms. */
export function approved(
  pins: readonly Pin[],
  differences: readonly PinDifference[],
  keepsOld: boolean,
): readonly Pin[] {
  const pinnable = differences.filter(({ offered, classes }) => offered !== undefined || classes.includes('gone'));
  const replaced = new Set(keepsOld ? [] : pinnable.map(keyOf));
  return [
    ...pins.filter((pin) => !replaced.has(keyOf(pin))),
    ...pinnable.flatMap(({ offered }) => (offered === undefined ? [] : [offered])),
  ];
}
