/** Named keys, and the file that they are in. The file is read again whenever it changes; a broken one changes nothing. */
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
  /** Keys that were right before, by their hashes: a plain hash costs half of a salted one. Never more than there are keys. */
  readonly right: Map<string, KnownKey>;
}

export interface KeysOptions {
  readonly file: KeyFilePort;
  readonly time: WallClock;
  readonly warn: Warn;
  readonly pollMs?: number;
}

/** What a key without an entry is compared with, so that it takes as long as any other. */
const nobody = randomBytes(32);

const empty: Book = { salt: '', byId: new Map(), right: new Map() };

export class Keys {
  readonly #file: KeyFilePort;
  readonly #time: WallClock;
  readonly #warn: Warn;
  readonly #pollMs: number;
  #book = empty;
  /** Of what was read last, whether it was any good or not: the same mistake is told once. */
  #stamp: string | undefined;
  /** What was last said to be wrong with it. */
  #told: string | undefined;
  #stop: (() => void) | undefined;

  /** Reads the file. A missing one is no mistake: the first key may still be made. */
  constructor({ file, time, warn, pollMs = identityLimits.keyFileMs }: KeysOptions) {
    this.#file = file;
    this.#time = time;
    this.#warn = warn;
    this.#pollMs = pollMs;
    this.reload();
    if (this.#stamp === undefined) warn('there is no key file yet: nobody gets in by key', {});
  }

  /** Ids are no secret and lead to the entry; the secret is compared in a time that does not depend on it. */
  find(text: string): Principal | Failure {
    const id = hash('sha256', text, 'base64');
    const held = this.#book.right.get(id) ?? this.#check(text, id);
    if (held === undefined) return new Failure('key_unknown');
    // Only whoever has the secret is told that it was right once.
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

  /** Whether the key that made this principal is still there and in its time. */
  stillGood(principal: Principal): boolean {
    const held = this.#book.byId.get(principal.keyId ?? '');
    return held !== undefined && held.principal.key === principal.key && !this.#isOver(held.principal);
  }

  #isOver({ expiresAt }: Principal): boolean {
    return expiresAt !== undefined && expiresAt <= this.#time.now();
  }

  /** Looks at the file from now on, until `close`. */
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
      // Before the text: what changes in between is seen next time.
      stamp = this.#file.stamp();
      if (stamp === this.#stamp) return;
      text = stamp === undefined ? undefined : this.#file.read();
    } catch (error) {
      // Tried again next time; the system's words may name more than the log should hold.
      this.#tell(codeOf(error));
      return;
    }
    this.#stamp = stamp;
    this.#told = undefined;
    if (text !== undefined) this.#take(text);
    else {
      // It is replaced in one step when keys change, so that it is never missing for a moment.
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
