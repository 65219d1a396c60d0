/**
 * The processes that are one gateway, as this one sees them. Each keeps a record of itself in the store and changes it
 * every moment. One whose record has not changed for the length of a lease is gone. No clocks are compared: what counts
 * is how long this process has seen no change, and only while it can read.
 */
import type { Clock } from '../exchange/clock.ts';
import type { Warn } from '../observe/ports.ts';
import type { Bus, Records } from '../store/ports.ts';

const COLLECTION = 'member';
const TOPIC = 'members';
/** Also of what replicas say to each other: those of another format are not spoken to. */
const FORMAT = 2;
/** How often a record changes within a lease. */
const BEATS = 5;
/** Records of processes that are gone disappear then. Clocks of machines may be apart by this much. */
const KEPT_MS = 3600_000;
const MOST_MEMBERS = 256;
const OTHER_CONFIG = 'a replica has another config: each decides by its own';
const FOREIGN = 'a replica is of a version that cannot be spoken to: its sessions are out of reach here until it ends';

/** `foreign`: it is there, and of a version that this one cannot speak to. */
export type MemberState = 'alive' | 'leaving' | 'gone' | 'foreign';

/** What a process says of itself. */
interface MemberRecord {
  readonly format: number;
  /** `host:port` of its door. */
  readonly address: string;
  readonly isLeaving: boolean;
  readonly config: string;
  readonly beat: number;
}

interface SeenMember {
  record: MemberRecord;
  /** For how long its record has not changed, as far as it could be read. */
  silentMs: number;
  isAbsent: boolean;
}

export interface MembersPorts {
  readonly records: () => Promise<Records>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly timeOfDay: () => number;
  readonly warn: Warn;
  readonly leaseMs: number;
  /** Which config is in force, in short. */
  readonly config: () => string;
}

export class Members {
  readonly own: string;
  /** Called when this process could not renew its record for the length of a lease: others may believe it gone. */
  onLapse: (() => void) | undefined;
  readonly #ports: MembersPorts;
  readonly #seen = new Map<string, SeenMember>();
  readonly #warned = new Set<string>();
  readonly #stopListening: () => void;
  #stopBeating: (() => void) | undefined;
  #address: string | undefined;
  #isLeaving = false;
  #beat = 0;
  #turn = 0;
  #renewedAt: number | undefined;
  #readAt: number;
  #isBeating = false;
  #refreshing: Promise<void> | undefined;

  constructor(own: string, ports: MembersPorts) {
    this.own = own;
    this.#ports = ports;
    this.#readAt = ports.clock.now();
    this.#stopListening = ports.bus.subscribe(TOPIC, (from) => {
      if (from !== own) void this.#read().catch(ignore);
    });
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Those that can be reached as far as is known, this one among them. */
  get size(): number {
    return 1 + this.#others('alive').length;
  }

  /** `address`: where the others reach this process. Resolves when it was told, or could not be. */
  async join(address: string): Promise<void> {
    this.#address = address;
    await this.#beatOnce();
    void this.#ports.bus.publish(TOPIC, this.own);
  }

  /** From now on new work goes to others. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#tell();
  }

  /** Says nothing any more, without a goodbye. */
  silence(): void {
    this.#stopListening();
    this.#stopBeating?.();
  }

  async close(): Promise<void> {
    this.silence();
    if (this.#address === undefined) return;
    this.#address = undefined;
    const gone = (await this.#ports.records()).delete(COLLECTION, this.own);
    await gone.then(() => this.#ports.bus.publish(TOPIC, this.own));
  }

  /** Reads the store now: another process may know one that has joined a moment ago. Rejects with a StoreError. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  stateOf(member: string): MemberState {
    const seen = this.#seen.get(member);
    if (seen === undefined || seen.isAbsent || seen.silentMs >= this.#ports.leaseMs) return 'gone';
    if (seen.record.format !== FORMAT) return 'foreign';
    return seen.record.isLeaving ? 'leaving' : 'alive';
  }

  /**
   * Also of one that is gone, as long as it is remembered: it may only be unable to say that it is there. Not of one
   * that has said goodbye, or of another version.
   */
  addressOf(member: string): string | undefined {
    const seen = this.#seen.get(member);
    if (seen === undefined || seen.record.format !== FORMAT) return undefined;
    return seen.isAbsent && seen.record.isLeaving ? undefined : seen.record.address;
  }

  /** Also of one that has said goodbye: it may still finish what it began. */
  lastAddressOf(member: string): string | undefined {
    return this.#seen.get(member)?.record.address;
  }

  /** One that takes new work. */
  another(): string | undefined {
    const others = this.#others('alive');
    this.#turn += 1;
    return others[this.#turn % Math.max(1, others.length)];
  }

  #others(state: MemberState): readonly string[] {
    return [...this.#seen.keys()].filter((member) => this.stateOf(member) === state);
  }

  async #tell(): Promise<void> {
    await this.#write().catch(ignore);
    await this.#ports.bus.publish(TOPIC, this.own);
  }

  async #beatOnce(): Promise<void> {
    if (!this.#isBeating) {
      this.#isBeating = true;
      try {
        await this.#write();
        await this.#read();
      } catch {
        // The store says once that it is away. What was seen last stays true until it is back.
        this.#readAt = this.#ports.clock.now();
      }
      this.#isBeating = false;
    }
    this.#stopBeating?.();
    if (this.#address !== undefined)
      this.#stopBeating = this.#ports.clock.after(this.#ports.leaseMs / BEATS, () => void this.#beatOnce());
  }

  async #write(): Promise<void> {
    const { records, clock, timeOfDay, leaseMs, config } = this.#ports;
    if (this.#address === undefined) return;
    this.#beat += 1;
    const record: MemberRecord = {
      ...{ format: FORMAT, address: this.#address, isLeaving: this.#isLeaving, config: config(), beat: this.#beat },
    };
    const sentAt = clock.now();
    await (await records()).put(COLLECTION, this.own, JSON.stringify(record), timeOfDay() + KEPT_MS);
    // The store may have taken the last one as soon as it was sent, and this one just now.
    const hasLapsed = this.#renewedAt !== undefined && clock.now() - this.#renewedAt > leaseMs;
    this.#renewedAt = sentAt;
    if (hasLapsed) this.onLapse?.();
  }

  async #read(): Promise<void> {
    const { records: open, clock, leaseMs } = this.#ports;
    const records = await open();
    const names = (await records.keys(COLLECTION, '', MOST_MEMBERS)).filter((name) => name !== this.own);
    const texts = await Promise.all(names.map((name) => records.get(COLLECTION, name)));
    const now = clock.now();
    // A process that was stopped for a while must not believe all others gone.
    const passed = Math.min(now - this.#readAt, (2 * leaseMs) / BEATS);
    this.#readAt = now;
    for (const [at, name] of names.entries()) this.#note(name, recordOf(texts[at]), passed);
    for (const [name, seen] of this.#seen) if (!names.includes(name)) this.#absent(name, seen, passed);
  }

  #note(name: string, record: MemberRecord | undefined, passed: number): void {
    if (record === undefined) return;
    const seen = this.#seen.get(name);
    if (seen === undefined) this.#seen.set(name, { record, silentMs: 0, isAbsent: false });
    else {
      // Of two readings at a time, the older one may come last.
      if (record.beat > seen.record.beat) Object.assign(seen, { record, silentMs: 0, isAbsent: false });
      else seen.silentMs += passed;
    }
    const isForeign = record.format !== FORMAT;
    if ((!isForeign && record.config === this.#ports.config()) || this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#ports.warn(isForeign ? FOREIGN : OTHER_CONFIG, { replica: record.address });
  }

  /** It has said goodbye, or the store has lost its data: then it is back within a beat. */
  #absent(name: string, seen: SeenMember, passed: number): void {
    seen.silentMs += passed;
    if (seen.record.isLeaving || seen.silentMs >= this.#ports.leaseMs) seen.isAbsent = true;
    if (seen.silentMs < KEPT_MS) return;
    this.#seen.delete(name);
    this.#warned.delete(name);
  }
}

/** Of another version it has `beat` at least, and `isLeaving` if it leaves. Undefined where even that is missing. */
function recordOf(text: string | undefined): MemberRecord | undefined {
  if (text === undefined) return undefined;
  const record = JSON.parse(text) as MemberRecord;
  return typeof record.beat === 'number' ? record : undefined;
}

const ignore = (): void => undefined;
