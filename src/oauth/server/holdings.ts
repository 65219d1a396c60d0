/**
 * Counts records for each network or signed-in user. When the store is full, the holder with the most records loses its
 * oldest one, so a flood evicts its own records. Users with a small share lose theirs last: they have entered a
 * password, and a flood from thousands of networks must not end what they are about to finish.
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
  /** Undefined if unknown: the record then stays with its current holder. */
  readonly holder: Holder | undefined;
  readonly now: number;
  readonly endsAt: number | undefined;
}

/** The first letter of a holder's key. */
const kinds = { network: 'a', user: 'b' } as const;
/** A share of the limit. A user who holds more is treated like a network. */
const SMALL_SHARE = 1 / 100;
/** Enough hexadecimal digits for every time until the year 10889. */
const TIME_DIGITS = 12;
const HOLDER_CHARS = 22;
/** Finding records to evict means listing all of them, so evict enough for the next requests too. */
const GIVEN_UP_AT_ONCE = 1 / 100;

/** The places of one holder, oldest first. */
type HeldKeys = string[];

export class Holdings {
  readonly #records: Records;
  readonly #kept: string;
  readonly #places: string;
  /**
   * How many more records fit, as far as this process knows. The next listing corrects for what other processes add.
   */
  #room = 0;

  constructor(records: Records, collection: string) {
    this.#records = records;
    this.#kept = collection;
    this.#places = `${collection}:held`;
  }

  /** Returns the place, to be stored in the record itself. `before` is the record's previous place. */
  async note({ key, holder, now, endsAt }: HeldRecord, before: string | undefined): Promise<string | undefined> {
    const by = holder === undefined ? undefined : holderKey(holder);
    if (by === undefined || before?.startsWith(`${by}/`) === true) return before;
    const place = `${by}/${now.toString(16).padStart(TIME_DIGITS, '0')}/${key}`;
    await this.#records.put(this.#places, place, key, endsAt);
    await this.release(before);
    return place;
  }

  /** The record is deleted, or must not be evicted any more. */
  async release(place: string | undefined): Promise<void> {
    if (place !== undefined) await this.#records.delete(this.#places, place);
  }

  /** Makes room for one more record where there are `most`. False if no record can be evicted. */
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

  /** Returns the number of evicted records. */
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

/** A hash: a reader of the record keys learns no addresses or user names. */
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

/** Whether `share` loses a record before `other` does. */
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
