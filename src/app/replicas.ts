/** This process as one of several replicas: how it joins them, reaches them, and leaves. */
import { guardedDial, guardedServer } from '../cluster/door.ts';
import { Hellos } from '../cluster/lanes/hello.ts';
import { openLaneDoor } from '../cluster/lanes/lane-door.ts';
import { Lanes } from '../cluster/lanes/lanes.ts';
import { Members } from '../cluster/members.ts';
import { Owners } from '../cluster/owners.ts';
import { ReplicasForwarding } from '../cluster/replicas-forwarding.ts';
import type { Config, ReplicasConfig } from '../config/config.ts';
import type { SessionPlaces } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Warn } from '../observe/ports.ts';
import type { StoreEngine } from '../store/engine.ts';
import { createSealFor, openingWith } from '../store/seal.ts';
import { SealedRecords } from '../store/sealed.ts';
import { digest } from './digest.ts';
import { newId } from './shared-services.ts';

const MEMBER_CHARACTERS = 12;
/** Clocks of machines may be apart by a minute. */
const HELLO_MS = 70_000;
/**
 * How often to forget sessions that have ended, and to see whether the store has lost its data, or a process is gone
 * that requests wait for.
 */
const LOOK_MS = 1_000;

export interface ReplicasOptions {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly timeOfDay: () => number;
  readonly warn: Warn;
  /** Of the config in force. */
  readonly configDigest: () => string;
  /** Added to the port: workers of one machine have one each. */
  readonly portOffset: number;
}

export class Replicas {
  readonly member = newId().slice(0, MEMBER_CHARACTERS);
  readonly forwarding: ReplicasForwarding;
  readonly members: Members;
  readonly #owners: Owners;
  readonly #options: ReplicasOptions;
  readonly #config: ReplicasConfig;
  #stopLooking: (() => void) | undefined;
  #joining: Promise<void> = Promise.resolve();

  constructor({ seal: { key = '', previous = [] }, limits }: Config, config: ReplicasConfig, options: ReplicasOptions) {
    this.#options = options;
    this.#config = config;
    const { store, clock, timeOfDay, warn, configDigest, portOffset } = options;
    const sealed = (purpose: string) => {
      const sealWith = (secret: string) => createSealFor(purpose, secret);
      return openingWith(sealWith(key), previous.map(sealWith));
    };
    const kept = new SealedRecords(store.records, sealed('replicas'), (text, facts) => warn(text, facts));
    const records = async () => kept;
    const leaseMs = limits.replicaLeaseMs;
    this.members = new Members(this.member, {
      ...{ records, bus: store.bus, clock, timeOfDay, warn, leaseMs, config: configDigest },
    });
    this.#owners = new Owners(this.member, { records, digest });
    const { host, port } = config.listen;
    const own = this.member;
    const hellos = new Hellos({ seal: sealed('forward'), timeOfDay, newId, validMs: HELLO_MS });
    const dialAt = guardedDial(key);
    const dial = (member: string) => {
      const address = this.members.lastAddressOf(member);
      return address === undefined ? undefined : dialAt(address);
    };
    this.forwarding = new ReplicasForwarding({
      ...{ members: this.members, owners: this.#owners, leaseMs, lanes: new Lanes({ own, hellos, dial }) },
      open: async (enter, fault) => {
        const at = { host, port: port === 0 ? 0 : port + portOffset };
        const door = await openLaneDoor(guardedServer(key, previous), at, { own, hellos, enter, fault });
        this.#joining = this.members.join(this.#addressAt(door.port));
        return door;
      },
    });
  }

  /** Resolves when the others know of this process, or cannot be told. */
  async joined(places: SessionPlaces): Promise<void> {
    const { clock, store } = this.#options;
    this.members.onLapse = () => this.#owners.doubt(places.ids);
    places.askBeforeExpiry((id) => this.#owners.isElsewhere(id));
    let { epoch } = store;
    const look = () => {
      this.#owners.keep((id) => places.has(id));
      // Records of sessions that were taken over are gone with the data.
      if (epoch !== undefined && store.epoch !== epoch) this.#owners.doubt(this.#owners.taken);
      epoch = store.epoch;
      void this.forwarding.look(places).catch(() => undefined);
      this.#stopLooking = clock.after(LOOK_MS, look);
    };
    look();
    await this.#joining;
  }

  get isLeaving(): boolean {
    return this.members.isLeaving;
  }

  /** Other processes take over what they can. */
  async leave(): Promise<void> {
    await this.members.leave();
  }

  async close(): Promise<void> {
    this.#stopLooking?.();
    await this.members.close().catch(() => undefined);
  }

  #addressAt(port: number): string {
    const { advertise, advertisedHost = '', listen } = this.#config;
    const offset = this.#options.portOffset;
    if (advertise === undefined) return `${advertisedHost}:${port}`;
    if (offset === 0 && listen.port !== 0) return advertise;
    const at = advertise.lastIndexOf(':');
    return `${advertise.slice(0, at)}:${listen.port === 0 ? port : Number(advertise.slice(at + 1)) + offset}`;
  }
}
