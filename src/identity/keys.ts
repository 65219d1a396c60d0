/**
 * Named keys and their file. The file is read again whenever it changes. If the new content is invalid, the keys stay.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Failure } from '../errors/failure.ts';
import type { WallClock, Warn } from '../observe/ports.ts';
import { hashSecret, type KeyFile, KeyFileError, parseKey, readKeyFile } from './key-file.ts';
import { identityLimits } from './limits.ts';
import type { KeyFilePort } from './ports.ts';
import { keyPrincipal, type Principal } from './principal.ts';

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

export interface KeysOptions {
  readonly file: KeyFilePort;
  readonly time: WallClock;
  readonly warn: Warn;
  readonly pollMs?: number;
}

/** Compared with a key that has no entry, so that an unknown key takes as long as a known one. */
const nobody = randomBytes(32);

const empty: Book = { salt: '', byId: new Map(), right: new Map() };

export class Keys {
  readonly #file: KeyFilePort;
  readonly #time: WallClock;
  readonly #warn: Warn;
  readonly #pollMs: number;
  #book = empty;
  /** The stamp of the last content that was read, valid or not: the same problem is reported once. */
  #stamp: string | undefined;
  /** The last problem that was reported. */
  #told: string | undefined;
  #stop: (() => void) | undefined;

  /** Reads the file. A missing file is not an error: the first key may be added later. */
  constructor({ file, time, warn, pollMs = identityLimits.keyFileMs }: KeysOptions) {
    this.#file = file;
    this.#time = time;
    this.#warn = warn;
    this.#pollMs = pollMs;
    this.reload();
    if (this.#stamp === undefined) warn('there is no key file yet: nobody gets in by key', {});
  }

  /** Ids are not secret and lead to the entry. The secret is compared in constant time. */
  find(text: string): Principal | Failure {
    const id = hash('sha256', text, 'base64');
    const held = this.#book.right.get(id) ?? this.#check(text, id);
    if (held === undefined) return new Failure('key_unknown');
    // Only a sender with the right secret learns that the key has expired.
    return this.#isOver(held.principal) ? new Failure('key_expired') : held.principal;
  }

  #check(text: string, id: string): KnownKey | undefined {
    const key = parseKey(text);
    if (key === undefined) return undefined;
    const { salt, byId, right } = this.#book;
    const held = byId.get(key.id);
    const isRight = timingSafeEqual(hashSecret(key.secret, salt), held?.hash ?? nobody);
    if (held === undefined || !isRight) return undefined;
    right.set(id, held);
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

  /** Polls the file until `close`. */
  watch(): void {
    this.#stop?.();
    this.#stop = this.#time.after(this.#pollMs, () => {
      this.reload();
      this.watch();
    });
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  reload(): void {
    let stamp: string | undefined;
    let text: string | undefined;
    try {
      // Taken before the text is read: a change in between is noticed at the next poll.
      stamp = this.#file.stamp();
      if (stamp === this.#stamp) return;
      text = stamp === undefined ? undefined : this.#file.read();
    } catch (error) {
      // Retried at the next poll. Only the code is logged: the system's message may contain too much.
      this.#tell(codeOf(error));
      return;
    }
    this.#stamp = stamp;
    this.#told = undefined;
    if (text !== undefined) this.#take(text);
    else {
      // Changes of keys replace the file atomically, so a missing file was really removed.
      this.#book = empty;
      this.#warn('the key file is gone: nobody gets in by key', {});
    }
  }

  #take(text: string): void {
    try {
      this.#book = bookOf(readKeyFile(text));
    } catch (error) {
      this.#tell(error instanceof KeyFileError ? error.message : codeOf(error));
    }
  }

  #tell(why: string): void {
    if (why === this.#told) return;
    this.#told = why;
    this.#warn('the key file cannot be read: the keys stay as they were', { why });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

function bookOf({ salt, keys }: KeyFile): Book {
  const byId = keys.map(({ id, name, scopes, hash, expires }): [string, KnownKey] => {
    const expiresAt = expires === undefined ? undefined : Date.parse(expires);
    return [id, { hash: Buffer.from(hash, 'base64url'), principal: keyPrincipal({ id, name, scopes, expiresAt }) }];
  });
  return { salt, byId: new Map(byId), right: new Map() };
}
