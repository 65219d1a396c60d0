/**
 * A lease is a key with a sealed token, which expires by Redis's own clock. A token that others have written counts for
 * nothing.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { HeldLease, Lease, Seal } from '../ports.ts';
import { type RedisConnection, redisScript } from './connection.ts';

/** ARGV: our token, milliseconds, a token to replace or ''. Returns the token of the holder, or nothing. */
const takeLease = redisScript(`
local held = redis.pcall('GET', KEYS[1])
if held and held ~= ARGV[3] then return type(held) == 'string' and held or '' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
`);

const releaseLease = redisScript(`
if redis.pcall('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
`);

export class RedisLease implements Lease {
  readonly #connection: RedisConnection;
  readonly #seal: Seal;

  constructor(connection: RedisConnection, seal: Seal) {
    this.#connection = connection;
    this.#seal = seal;
  }

  /** Rejects with a StoreError. */
  async take(name: string, ttlMs: number): Promise<HeldLease | undefined> {
    const key = `${this.#connection.settings.prefix}lease:${createHash('sha256').update(name).digest('base64url')}`;
    const context = `lease\0${name}`;
    const mine = this.#seal.seal(randomUUID(), context);
    const holder = await this.#connection.run(takeLease, [key], [mine, ttlMs, '']);
    if (typeof holder === 'string') {
      if (this.#seal.open(holder, context) !== undefined) return undefined;
      // None of us has written it.
      if (typeof (await this.#connection.run(takeLease, [key], [mine, ttlMs, holder])) === 'string') return undefined;
    }
    return {
      release: async () => {
        await this.#connection.run(releaseLease, [key], [mine]);
      },
    };
  }
}
