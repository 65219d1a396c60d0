/**
 * Storage for oidc-provider on top of `Records`. Codes and tokens are looked up by their own text, so the key is only a
 * hash of it: a reader of the record keys learns no token.
 */
import { createHash } from 'node:crypto';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { WallClock } from '../../observe/ports.ts';
import type { Records } from '../../store/ports.ts';
import type { Holder, Holdings } from './holdings.ts';

/** Models that are also indexed by their grant, so that they can be revoked with it. */
const grantable: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken']);
/** More than one grant can hold: codes end after a minute, and rotation ends old refresh tokens. */
const MOST_OF_A_GRANT = 10_000;
/** Retries of a compare-and-replace: a concurrent request may change the same record in between. */
const ATTEMPTS = 8;

export interface AdapterOptions {
  readonly records: Records;
  readonly time: Pick<WallClock, 'now'>;
  /** When the record of a newly registered client ends. */
  readonly clientEndsAt: () => number;
  /** The error for a request that uses a code or token for the second time. */
  readonly alreadyUsed: () => Error;
  /** By model, for those models whose records an unauthenticated request can create. */
  readonly holdings: ReadonlyMap<string, Holdings>;
  /** The network or user that caused the record; undefined outside of a request. */
  readonly holderOf: (payload: AdapterPayload) => Holder | undefined;
}

export class RecordsAdapter implements Adapter {
  readonly #model: string;
  readonly #options: AdapterOptions;

  constructor(model: string, options: AdapterOptions) {
    this.#model = model;
    this.#options = options;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { records, time, clientEndsAt } = this.#options;
    const ends = expiresIn === undefined ? undefined : time.now() + expiresIn * 1000;
    const endsAt = this.#model === 'Client' ? clientEndsAt() : ends;
    const key = keyOf(id);
    const { grantId, uid } = payload;
    // Write the index before the record: a record that is not in the index could not be revoked with its grant.
    if (grantable.has(this.#model) && typeof grantId === 'string') {
      await records.put(this.#members, `${keyOf(grantId)}/${key}`, key, endsAt);
    }
    if (this.#model === 'Session' && typeof uid === 'string') await records.put(uids, keyOf(uid), key, endsAt);
    const place = await this.#placeOf(key, payload, endsAt);
    await records.put(this.#collection, key, JSON.stringify({ payload, endsAt, place } satisfies AdapterEntry), endsAt);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#read(keyOf(id));
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const key = await this.#options.records.get(uids, keyOf(uid));
    return key === undefined ? undefined : this.#read(key);
  }

  /** Only device codes need this, and we do not offer them. */
  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  /** OAuth 2.1, 4.1.3: a code is good once. Of two concurrent requests, one succeeds. */
  async consume(id: string): Promise<void> {
    const { records, time, alreadyUsed } = this.#options;
    const key = keyOf(id);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const text = await records.get(this.#collection, key);
      const kept = text === undefined ? undefined : (JSON.parse(text) as AdapterEntry);
      if (kept === undefined || kept.payload.consumed !== undefined) throw alreadyUsed();
      const consumed = Math.floor(time.now() / 1000);
      const next = JSON.stringify({ ...kept, payload: { ...kept.payload, consumed } });
      if (await records.replace(this.#collection, key, text, next, kept.endsAt)) return;
    }
    throw alreadyUsed();
  }

  async destroy(id: string): Promise<void> {
    const text = await this.#options.records.take(this.#collection, keyOf(id));
    if (text !== undefined) await this.#holdings?.release(placeIn(text));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    const { records } = this.#options;
    const members = await records.keys(this.#members, `${keyOf(grantId)}/`, MOST_OF_A_GRANT);
    for (const member of members) {
      await records.delete(this.#collection, member.slice(member.indexOf('/') + 1));
      await records.delete(this.#members, member);
    }
  }

  get #collection(): string {
    return `oauth:${this.#model}`;
  }

  get #members(): string {
    return `oauth:of-grant:${this.#model}`;
  }

  get #holdings(): Holdings | undefined {
    return this.#options.holdings.get(this.#model);
  }

  /** Notes the place before the record is written: a record without a place could not be evicted. */
  async #placeOf(key: string, payload: AdapterPayload, endsAt: number | undefined): Promise<string | undefined> {
    const { records, time, holderOf } = this.#options;
    if (this.#holdings === undefined) return undefined;
    const before = await records.get(this.#collection, key);
    const held = { key, holder: holderOf(payload), now: time.now(), endsAt };
    return this.#holdings.note(held, before === undefined ? undefined : placeIn(before));
  }

  async #read(key: string): Promise<AdapterPayload | undefined> {
    const text = await this.#options.records.get(this.#collection, key);
    return text === undefined ? undefined : (JSON.parse(text) as AdapterEntry).payload;
  }
}

interface AdapterEntry {
  readonly payload: AdapterPayload;
  readonly endsAt?: number | undefined;
  /** The key in `Holdings`. Absent if the record must not be evicted. */
  readonly place?: string | undefined;
}

function placeIn(text: string): string | undefined {
  return (JSON.parse(text) as AdapterEntry).place;
}

/** The same record without its place, so that it is not evicted any more. */
export function withoutPlace(text: string): { readonly text: string; readonly place: string | undefined } {
  const { place, ...kept } = JSON.parse(text) as AdapterEntry;
  return { text: JSON.stringify(kept), place };
}

const uids = 'oauth:uids';
export const clientCollection = 'oauth:Client';
export const interactionCollection = 'oauth:Interaction';

export function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
