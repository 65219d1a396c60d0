/** A random text that Redis keeps for as long as it keeps anything. If it is another one, Redis has lost its data. */
import { randomUUID } from 'node:crypto';
import type { StoreWarn } from '../errors.ts';
import type { Seal } from '../ports.ts';
import { type RedisConnection, redisScript } from './connection.ts';

/** Data may be lost without a lost connection: by FLUSHALL, or at one node of a cluster. */
const CHECK_MS = 10_000;

const CONTEXT = 'epoch';

/** ARGV: a new value, a value to replace or ''. Returns the value from now on. */
const settleEpoch = redisScript(`
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'string' and held ~= ARGV[2] then return held end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
`);

export class StoreEpoch {
  readonly #connection: RedisConnection;
  readonly #seal: Seal;
  readonly #warn: StoreWarn;
  readonly #checking: NodeJS.Timeout;
  #current: string | undefined;

  constructor(connection: RedisConnection, seal: Seal, warn: StoreWarn) {
    this.#connection = connection;
    this.#seal = seal;
    this.#warn = warn;
    const check = () => void this.#check().catch(() => undefined);
    connection.onReady(check);
    this.#checking = setInterval(check, CHECK_MS);
  }

  /** Undefined until Redis was reached. */
  get current(): string | undefined {
    return this.#current;
  }

  close(): void {
    clearInterval(this.#checking);
  }

  async #check(): Promise<void> {
    if (!this.#connection.isReady) return;
    const next = this.#seal.seal(randomUUID(), CONTEXT);
    const held = await this.#settle(next, '');
    const epoch = this.#seal.open(held, CONTEXT) ?? this.#seal.open(await this.#settle(next, held), CONTEXT);
    if (epoch === undefined || epoch === this.#current) return;
    if (this.#current !== undefined)
      this.#warn('Redis has lost its data: records, leases and events from before are gone', {});
    this.#current = epoch;
  }

  async #settle(next: string, replaced: string): Promise<string> {
    const key = `${this.#connection.settings.prefix}epoch`;
    return String(await this.#connection.run(settleEpoch, [key], [next, replaced]));
  }
}
