/**
 * Records are kept for each network or signed-in user. When there is no room for another record, the holder of most
 * records gives up its oldest one, so that a flood takes the room from itself. Users with a small share give up last:
 * they have given a password, and a flood from thousands of networks must not end what they are about to finish.
 */
import { createHash } from 'node:crypto';
import type { Records } from '../../store/ports.ts';

export interface Holder {
  readonly kind: 'network' | 'user';
  readonly name: string;
}

export interface HeldRecord {
  /** The key of the record in its own collection. */
  readonly key: string;
  /** Absent where nobody can tell: then it stays with whom it was. */
  readonly holder: Holder | undefined;
  readonly now: number;
  readonly endsAt: number | undefined;
}

/** The first letter of a holder's key. */
const kinds = { network: 'a', user: 'b' } as const;
/** Of the whole room. A user who holds more is treated like a network. */
const SMALL_SHARE = 1 / 100;
/** Enough hexadecimal digits for every time until the year 10889. */
const TIME_DIGITS = 12;
const HOLDER_CHARS = 22;
/** Looking for what to give up means to list everything: then room is made for the next ones, too. */
const GIVEN_UP_AT_ONCE = 1 / 100;

/** Of one holder, in the order of their age. */
type HeldKeys = string[];

export class Holdings {
  readonly #records: Records;
  readonly #kept: string;
  readonly #places: string;
  /** As many more fit, as far as this process knows. What others add meanwhile is made good at the next look. */
  #room = 0;

  constructor(records: Records, collection: string) {
    this.#records = records;
    this.#kept = collection;
    this.#places = `${collection}:held`;
  }

  /** Returns the place, to be kept in the record itself. `before` is the place that the record had. */
  async note({ key, holder, now, endsAt }: HeldRecord, before: string | undefined): Promise<string | undefined> {
    const by = holder === undefined ? undefined : holderKey(holder);
    if (by === undefined || before?.startsWith(`${by}/`) === true) return before;
    const place = `${by}/${now.toString(16).padStart(TIME_DIGITS, '0')}/${key}`;
    await this.#records.put(this.#places, place, key, endsAt);
    await this.release(before);
    return place;
  }

  /** It is gone, or it is no longer to be given up. */
  async release(place: string | undefined): Promise<void> {
    if (place !== undefined) await this.#records.delete(this.#places, place);
  }

  /** Makes room for one more where there are `most`. False where none of them is to be given up. */
  async makeRoom(most: number): Promise<boolean> {
    if (this.#room === 0) {
      const { length } = await this.#records.keys(this.#kept, '', most * 2);
      const excess = length - most;
      const given = excess < 0 ? 0 : await this.#giveUp(excess + Math.ceil(most * GIVEN_UP_AT_ONCE), most);
      this.#room = Math.max(0, given - excess);
    }
    if (this.#room === 0) return false;
    this.#room -= 1;
    return true;
  }

  /** Tells how many there were. */
  async #giveUp(count: number, most: number): Promise<number> {
    const shares = sharesOf(await this.#records.keys(this.#places, '', most * 2));
    const small = Math.ceil(most * SMALL_SHARE);
    for (let given = 0; given < count; given += 1) {
      const [holder, places] = next(shares, small) ?? [];
      const place = places?.shift();
      if (holder === undefined || place === undefined) return given;
      if (places?.length === 0) shares.delete(holder);
      await this.#records.delete(this.#kept, place.slice(place.lastIndexOf('/') + 1));
      await this.release(place);
    }
    return count;
  }
}

/** A hash: nobody who reads the names of records learns addresses and names from them. */
function holderKey({ kind, name }: Holder): string {
  return `${kinds[kind]}${createHash('sha256').update(name).digest('base64url').slice(0, HOLDER_CHARS)}`;
}

function sharesOf(all: readonly string[]): Map<string, HeldKeys> {
  const shares = new Map<string, HeldKeys>();
  for (const place of all) {
    const holder = place.slice(0, place.indexOf('/'));
    const places = shares.get(holder);
    if (places === undefined) shares.set(holder, [place]);
    else places.push(place);
  }
  return shares;
}

type HolderShare = readonly [holder: string, places: HeldKeys];

function next(shares: ReadonlyMap<string, HeldKeys>, small: number): HolderShare | undefined {
  let found: HolderShare | undefined;
  for (const share of shares) if (found === undefined || isBefore(share, found, small)) found = share;
  return found;
}

/** Whether it gives up before the other one does. */
function isBefore(share: HolderShare, other: HolderShare, small: number): boolean {
  const [[, places], [, otherPlaces]] = [share, other];
  const isLast = isSmallUser(share, small);
  if (isLast !== isSmallUser(other, small)) return !isLast;
  if (places.length !== otherPlaces.length) return places.length > otherPlaces.length;
  return ageOf(places) < ageOf(otherPlaces);
}

function isSmallUser([holder, places]: HolderShare, small: number): boolean {
  return holder.startsWith(kinds.user) && places.length <= small;
}

function ageOf([oldest = '']: HeldKeys): string {
  return oldest.slice(oldest.indexOf('/') + 1);
}
