/** Passwords, kept as scrypt hashes (RFC 7914), each with its own salt and with the cost that it was made at. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { authServerLimits } from './limits.ts';
import type { User } from './user-file.ts';

/** As in the user file. */
export type PasswordHash = Readonly<User['password']>;

/** 32 MiB and some 80 ms: slow for an attacker who has the file, bearable for a person who signs in. */
const COST = { n: 2 ** 15, r: 8, p: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

export async function hashPassword(password: string): Promise<PasswordHash> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, COST);
  return { algorithm: 'scrypt', ...COST, salt: salt.toString('base64url'), hash: hash.toString('base64url') };
}

/** Compared with for an unknown name, so that it takes as long as a known one. No password has this hash. */
const nobody: PasswordHash = {
  algorithm: 'scrypt',
  ...COST,
  salt: Buffer.alloc(SALT_BYTES).toString('base64url'),
  hash: Buffer.alloc(HASH_BYTES).toString('base64url'),
};

export async function isPassword(password: string, kept: PasswordHash | undefined): Promise<boolean> {
  const { salt, hash, n, r, p } = kept ?? nobody;
  const derived = await derive(password, Buffer.from(salt, 'base64url'), { n, r, p });
  const expected = Buffer.from(hash, 'base64url');
  const isEqual = derived.length === expected.length && timingSafeEqual(derived, expected);
  return isEqual && kept !== undefined;
}

/** Node's default limit is just too small for the cost above. */
const MEMORY_BYTES = 256 * 1024 * 1024;

/**
 * Normalizes the password: Unicode has several spellings of the same letters, and keyboards differ in which they make.
 */
function derive(password: string, salt: Buffer, { n, r, p }: Pick<PasswordHash, 'n' | 'r' | 'p'>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, { N: n, r, p, maxmem: MEMORY_BYTES }, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

/** Bounds the password checks that run and wait: each costs memory before the caller is authenticated. */
export class PasswordChecks {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Undefined if too many checks wait already. */
  async check(password: string, kept: PasswordHash | undefined): Promise<boolean | undefined> {
    if (this.#running >= authServerLimits.passwordsAtOnce) {
      if (this.#waiting.length >= authServerLimits.passwordsWaiting) return undefined;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      return await isPassword(password, kept);
    } finally {
      const next = this.#waiting.shift();
      // The next one takes the place over: given back in between, it could be taken twice.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
