/** Named keys and their file. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Failure } from '../errors/failure.ts';
import type { WallClock } from '../observe/ports.ts';
import { digestOf } from './credentials.ts';
import { hashSecret, type KeyFile, parseKey, readKeyFile } from './key-file.ts';
import { identityLimits } from './limits.ts';
import { keyPrincipal, type Principal } from './principal.ts';
import { type FileWatch, WatchedFile } from './watched-file.ts';

interface KnownKey {
  readonly hash: Buffer;
  readonly principal: Principal;
}

interface Book {
  readonly salt: string;
  readonly byId: ReadonlyMap<string, KnownKey>;
  /**
   * Keys that were verified before, by plain hash, which costs half of a salted one. Never more than there are keys.
   */
  readonly right: Map<string, KnownKey>;
}

/** Compared with a key that has no entry, so that an unknown key takes as long as a known one. */
const nobody = randomBytes(32);

const empty: Book = { salt: '', byId: new Map(), right: new Map() };

export class Keys {
  readonly #time: WallClock;
  readonly #watched: WatchedFile;
  #book = empty;

  constructor(watch: FileWatch) {
    this.#time = watch.time;
    this.#watched = new WatchedFile(watch, {
      pollMs: identityLimits.keyFileMs,
      take: (text) => {
        this.#book = text === undefined ? empty : bookOf(readKeyFile(text));
      },
      missing: 'there is no key file yet: no access key is accepted until `bascule key new <name>` creates it',
      gone: 'the key file was removed: no access key is accepted',
      unreadable: 'the key file cannot be read: the keys from the last successful read stay valid',
    });
  }

  /** Ids are not secret and lead to the entry. The secret is compared in constant time. `digest` is the text's. */
  find(text: string, digest = digestOf(text)): Principal | Failure {
    const held = this.#book.right.get(digest) ?? this.#check(text, digest);
    if (held === undefined) return new Failure('key_unknown');
    // Only a sender with the right secret learns that the key has expired.
    return this.#isOver(held.principal) ? new Failure('key_expired') : held.principal;
  }

  /** Those whose keys have not expired. Two keys of one name may have different scopes. */
  get holders(): readonly Principal[] {
    return [...this.#book.byId.values()].map(({ principal }) => principal).filter((one) => !this.#isOver(one));
  }

  #check(text: string, digest: string): KnownKey | undefined {
    const key = parseKey(text);
    if (key === undefined) return undefined;
    const { salt, byId, right } = this.#book;
    const held = byId.get(key.id);
    const isRight = timingSafeEqual(hashSecret(key.secret, salt), held?.hash ?? nobody);
    if (held === undefined || !isRight) return undefined;
    right.set(digest, held);
    return held;
  }

  /** Whether the key of this principal still exists and has not expired. */
  stillGood(principal: Principal): boolean {
    const held = this.#book.byId.get(principal.keyId ?? '');
    return held !== undefined && held.principal.key === principal.key && !this.#isOver(held.principal);
  }

  #isOver({ expiresAt }: Principal): boolean {
    return expiresAt !== undefined && expiresAt <= this.#time.now();
  }

  watch(): void {
    this.#watched.watch();
  }

  close(): void {
    this.#watched.close();
  }

  reload(): void {
    this.#watched.reload();
  }
}

function bookOf({ salt, keys }: KeyFile): Book {
  const byId = keys.map(({ id, name, scopes, groups, hash, expires }): [string, KnownKey] => {
    const expiresAt = expires === undefined ? undefined : Date.parse(expires);
    const principal = keyPrincipal({ id, name, scopes, groups, expiresAt });
    return [id, { hash: Buffer.from(hash, 'base64url'), principal }];
  });
  return { salt, byId: new Map(byId), right: new Map() };
}
