/**
 * Replicas of the campaign: processes behind a balancer that goes in turn, with one Redis. A relay stands in front of
 * Redis and of each replica's door, and every replica has an address of its own to connect from: each link can be cut
 * by itself.
 */
import { freePort } from '../interaction/harness/ports.ts';
import { Balancer } from '../redis/balancer.ts';
import { startRedis, type TestRedis } from '../redis/server.ts';
import { Gateway } from './gateway.ts';
import { type Mood, Relay } from './relay.ts';

/** Short, so that much happens in a minute. */
const LEASE_MS = 2_500;

/** What makes a config one of replicas. The variables are those of each process. */
export const replicaSettings = {
  seal: { key: 'a key that all replicas of the campaign have' },
  store: { url: `\${CAMPAIGN_REDIS}` },
  replicas: { listen: `\${CAMPAIGN_DOOR}`, advertise: `\${CAMPAIGN_ADVERTISED}` },
  limits: { replicaLeaseMs: LEASE_MS, replicaLeaveMs: 1_000 },
};

/** Where a replica can be. */
interface Place {
  /** Its connections come from here. */
  readonly address: string;
  /** Where it takes requests from the others, and the relay in front of that. */
  readonly port: number;
  readonly door: Relay;
  isTaken: boolean;
  replica: Gateway | undefined;
}

export class ReplicaGroup {
  /** Those that the balancer uses. */
  readonly gateways: Gateway[];
  readonly redis: TestRedis;
  readonly balancer: Balancer<Gateway>;
  /** When Redis last lost its data. */
  dataLostAt = 0;
  /** When Redis was last away, for all or for one. */
  storeTroubledAt = 0;
  /** When a replica was last killed, stopped, restarted or cut off. */
  troubledAt = 0;
  readonly #folder: string;
  readonly #store: Relay;
  readonly #places: readonly Place[];
  readonly #killed = new Set<string>();
  #started = 0;

  static async start(folder: string, count: number): Promise<ReplicaGroup> {
    const redis = await startRedis();
    // One more place than replicas: a rolling restart starts the new one first.
    const places = await Promise.all(Array.from({ length: count + 1 }, (_, number) => newPlace(number)));
    const gateways: Gateway[] = [];
    const balancer = await Balancer.start(gateways);
    const group = new ReplicaGroup(folder, { redis, places, gateways, balancer, store: await Relay.start(redis.port) });
    await Promise.all(Array.from({ length: count }, () => group.add()));
    return group;
  }

  private constructor(
    folder: string,
    parts: {
      redis: TestRedis;
      store: Relay;
      places: readonly Place[];
      gateways: Gateway[];
      balancer: Balancer<Gateway>;
    },
  ) {
    this.#folder = folder;
    this.redis = parts.redis;
    this.#store = parts.store;
    this.#places = parts.places;
    this.gateways = parts.gateways;
    this.balancer = parts.balancer;
  }

  /** One more, at a place that is free. */
  async add(): Promise<Gateway> {
    const place = this.#places.find(({ isTaken }) => !isTaken);
    if (place === undefined) throw new Error('no place is free');
    place.isTaken = true;
    this.#started += 1;
    const gateway = await Gateway.start({
      ...{ folder: this.#folder, name: `replica-${this.#started}`, preload: ['./address.js'] },
      env: {
        CAMPAIGN_ADDRESS: place.address,
        CAMPAIGN_JUMP_MS: '25000',
        CAMPAIGN_REDIS: `redis://127.0.0.1:${this.#store.port}`,
        CAMPAIGN_DOOR: `127.0.0.1:${place.port}`,
        CAMPAIGN_ADVERTISED: `127.0.0.1:${place.door.port}`,
      },
    });
    place.replica = gateway;
    this.gateways.push(gateway);
    return gateway;
  }

  /** Ends it. Its place is free for another one, at the same address. */
  async end(gateway: Gateway, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.troubledAt = Date.now();
    if (signal === 'SIGKILL') this.#killed.add(gateway.name);
    await gateway.end(signal);
    this.gateways.splice(this.gateways.indexOf(gateway), 1);
    const place = this.#placeOf(gateway);
    if (place !== undefined) Object.assign(place, { replica: undefined, isTaken: false });
  }

  wasKilled(name: string): boolean {
    return this.#killed.has(name);
  }

  /** The way from one replica to another; to Redis where there is no other. */
  link(from: Gateway, to?: Gateway): Link {
    const { address = '' } = this.#placeOf(from) ?? {};
    const relay = to === undefined ? this.#store : this.#placeOf(to)?.door;
    return {
      become: (mood) => {
        this.troubledAt = Date.now();
        if (to === undefined) this.storeTroubledAt = Date.now();
        relay?.moods.set(address, mood);
        // What was swallowed is gone: those connections are of no use.
        if (mood !== 'half-open') relay?.cutAll(address);
      },
    };
  }

  async stop(): Promise<void> {
    this.balancer.close();
    await Promise.all(this.gateways.map((gateway) => gateway.end('SIGKILL')));
    for (const { door } of this.#places) door.close();
    this.#store.close();
    await this.redis.close();
  }

  #placeOf(gateway: Gateway): Place | undefined {
    return this.#places.find(({ replica }) => replica === gateway);
  }
}

interface Link {
  become(mood: Mood): void;
}

async function newPlace(number: number): Promise<Place> {
  const port = await freePort();
  return { address: `127.0.0.${10 + number}`, port, door: await Relay.start(port), isTaken: false, replica: undefined };
}
