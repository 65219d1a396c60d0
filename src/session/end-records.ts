/** The ends of sessions in the store. What could not be stored is stored later, and holds in this process meanwhile. */
import type { Clock } from '../exchange/clock.ts';
import type { Warn } from '../observe/ports.ts';
import type { Records } from '../store/ports.ts';
import {
  type EndedSession,
  type EndedSessionLimits,
  EndedSessions,
  EVERYONE,
  type Revocation,
  type SessionName,
} from './ended-sessions.ts';

export interface EndRecordsPorts {
  readonly records: () => Promise<Records>;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly warn: Warn;
  readonly limits: EndedSessionLimits;
  /** The store is a server that may have lost its data. */
  readonly mayLoseData: boolean;
}

/** By the hash of a session's id. It has no older value that could be put back. */
const ENDED = 'session-ended';
/** By the hash of a principal's key: until which time of issue their sessions have ended. */
const REVOKED = 'session-revoked';
/** An end that could not be stored is stored later: a disk that was full may have room again. */
const RETRY_MS = 5_000;
/** Records that are read or deleted at once. */
const BATCH = 100;
/** Keys that are listed at once: Redis does nothing else meanwhile. */
const PAGE = 1_000;
/** Attempts to replace a record that other processes replace too. */
const ROUNDS = 5;
const HEX = '0123456789abcdef';

export class EndRecords {
  readonly #ports: EndRecordsPorts;
  readonly #known: EndedSessions;
  readonly #unstored = new Map<string, EndedSession>();
  readonly #unstoredRevocations = new Map<string, Revocation>();
  #reading: Promise<void> | undefined;
  #hasRead = false;
  #stopRetrying: (() => void) | undefined;
  #hasFailed = false;

  constructor(ports: EndRecordsPorts) {
    this.#ports = ports;
    this.#known = new EndedSessions(ports.limits, ports.timeOfDay);
  }

  /** Reads what is stored, so that deleting it later changes nothing here. Resolves when it is known, or cannot be. */
  read(): Promise<void> {
    this.#reading ??= this.#readAll()
      .then(
        () => {
          this.#hasRead = true;
        },
        () => undefined,
      )
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  /** Resolves when the end is stored, or cannot be. */
  async ended(end: EndedSession): Promise<void> {
    this.#readOnce();
    if (this.#known.has(end)) return;
    this.#known.add(end);
    this.#unstored.set(end.session, end);
    const merging = this.#excessOf(end.principal).map((merged) => this.#merge(merged));
    await (this.#unstored.has(end.session) ? this.#storeEnd(end) : Promise.all(merging));
    if (this.#unstored.has(end.session)) this.#retryLater();
  }

  /** Rejects with a StoreError where it cannot be stored. It holds in this process nevertheless. */
  async revoke(revocation: Revocation): Promise<void> {
    const covered = this.#covered(revocation);
    await this.#putRevocation(revocation);
    await this.#delete(covered);
  }

  /** Another process has stored it. */
  heard(end: EndedSession): void {
    this.#known.add(end);
    this.#excessOf(end.principal);
  }

  heardRevocation(revocation: Revocation): void {
    this.#covered(revocation);
    this.#excessOf(revocation.principal);
  }

  /** Rejects with a StoreError where that cannot be known. */
  async hasEnded(name: SessionName): Promise<boolean> {
    this.#readOnce();
    if (this.#known.has(name)) return true;
    const records = await this.#ports.records();
    const [, revoked, ended] = await Promise.all([
      this.#readEveryone(records),
      records.get(REVOKED, name.principal),
      records.get(ENDED, name.session),
    ]);
    if (revoked !== undefined) this.heardRevocation(JSON.parse(revoked) as Revocation);
    if (ended !== undefined) this.heard(JSON.parse(ended) as EndedSession);
    return this.#known.has(name);
  }

  /** Stores what could not be stored before. */
  async flush(): Promise<void> {
    this.#stopRetrying?.();
    await this.#storeAll();
  }

  #readOnce(): void {
    if (!this.#hasRead) void this.read();
  }

  async #readAll(): Promise<void> {
    const { limits } = this.#ports;
    const records = await this.#ports.records();
    await this.#readEveryone(records);
    await this.#readEach(records, REVOKED, (text) => this.heardRevocation(JSON.parse(text) as Revocation));
    await this.#readEach(records, ENDED, (text) => {
      if (this.#known.size < limits.endedSessions) this.heard(JSON.parse(text) as EndedSession);
    });
  }

  async #readEach(records: Records, collection: string, read: (text: string) => void): Promise<void> {
    for await (const keys of pagesOf(records, collection, '')) {
      for (let at = 0; at < keys.length; at += BATCH) {
        const texts = await Promise.all(keys.slice(at, at + BATCH).map((key) => records.get(collection, key)));
        for (const text of texts) if (text !== undefined) read(text);
        // Stores in this process answer at once: other work must have its turn.
        await new Promise<void>((resolve) => this.#ports.clock.soon(resolve));
      }
    }
  }

  /** A store that has lost its data does not know which sessions have ended: none from before is continued. */
  async #readEveryone(records: Records): Promise<void> {
    const { mayLoseData, timeOfDay } = this.#ports;
    let text = await records.get(REVOKED, EVERYONE);
    if (text === undefined && mayLoseData) {
      const begins: Revocation = { principal: EVERYONE, issuedUntil: timeOfDay(), until: Number.MAX_SAFE_INTEGER };
      await records.replace(REVOKED, EVERYONE, undefined, JSON.stringify(begins));
      text = await records.get(REVOKED, EVERYONE);
    }
    if (text !== undefined) this.#covered(JSON.parse(text) as Revocation);
  }

  /** Revokes until there are not too many. Returns what was revoked, and what it covers. */
  #excessOf(principal: string): readonly MergedEnds[] {
    const merged: MergedEnds[] = [];
    for (let excess = this.#known.excess(principal); excess; excess = this.#known.excess(principal))
      merged.push({ revocation: excess, covered: this.#covered(excess) });
    return merged;
  }

  #covered(revocation: Revocation): readonly EndedSession[] {
    const covered = this.#known.revoke(revocation);
    for (const { session } of covered) this.#unstored.delete(session);
    return covered;
  }

  async #merge({ revocation, covered }: MergedEnds): Promise<void> {
    const { principal } = revocation;
    this.#ports.warn('too many sessions have ended: older ones of the principal cannot be continued', { principal });
    this.#unstoredRevocations.set(principal, revocation);
    await this.#storeRevocation(revocation);
    if (this.#unstoredRevocations.has(principal)) this.#retryLater();
    // Where it cannot be done, the records expire.
    else void this.#delete(covered).catch(() => undefined);
  }

  async #delete(covered: readonly EndedSession[]): Promise<void> {
    const records = await this.#ports.records();
    for (let at = 0; at < covered.length; at += BATCH)
      await Promise.all(covered.slice(at, at + BATCH).map(({ session }) => records.delete(ENDED, session)));
  }

  #storeEnd(end: EndedSession): Promise<boolean> {
    const { session, until } = end;
    return this.#store(async () => {
      await (await this.#ports.records()).put(ENDED, session, JSON.stringify(end), until);
      this.#unstored.delete(session);
    });
  }

  #storeRevocation(revocation: Revocation): Promise<boolean> {
    return this.#store(async () => {
      await this.#putRevocation(revocation);
      if (this.#unstoredRevocations.get(revocation.principal) === revocation)
        this.#unstoredRevocations.delete(revocation.principal);
    });
  }

  /** A later time of issue is never replaced by an earlier one. */
  async #putRevocation(revocation: Revocation): Promise<void> {
    const { principal, issuedUntil, until } = revocation;
    const records = await this.#ports.records();
    const end = principal === EVERYONE ? undefined : until;
    for (let round = 0; round < ROUNDS; round++) {
      const seen = await records.get(REVOKED, principal);
      if (seen !== undefined && (JSON.parse(seen) as Revocation).issuedUntil >= issuedUntil) return;
      if (await records.replace(REVOKED, principal, seen, JSON.stringify(revocation), end)) return;
    }
    await records.put(REVOKED, principal, JSON.stringify(revocation), end);
  }

  /** Returns whether it was stored. Warns once until it is again. */
  async #store(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      this.#hasFailed = false;
      return true;
    } catch (error) {
      if (!this.#hasFailed) this.#ports.warn('the end of a session cannot be stored', { why: String(error) });
      this.#hasFailed = true;
      return false;
    }
  }

  /** Ends with the first failure: others would wait as long for theirs. */
  async #storeAll(): Promise<void> {
    for (const revocation of [...this.#unstoredRevocations.values()])
      if (!(await this.#storeRevocation(revocation))) return;
    const ends = [...this.#unstored.values()];
    for (let at = 0; at < ends.length; at += BATCH) {
      const stored = await Promise.all(ends.slice(at, at + BATCH).map((end) => this.#storeEnd(end)));
      if (stored.includes(false)) return;
    }
  }

  #retryLater(): void {
    if (this.#unstored.size + this.#unstoredRevocations.size === 0) return;
    this.#stopRetrying ??= this.#ports.clock.after(RETRY_MS, () => {
      this.#stopRetrying = undefined;
      void this.#storeAll().then(() => this.#retryLater());
    });
  }
}

interface MergedEnds {
  readonly revocation: Revocation;
  readonly covered: readonly EndedSession[];
}

/** Keys are hashes, so their first digits divide them evenly. */
async function* pagesOf(records: Records, collection: string, prefix: string): AsyncGenerator<readonly string[]> {
  const keys = await records.keys(collection, prefix, PAGE);
  if (keys.length < PAGE) yield keys;
  else for (const digit of HEX) yield* pagesOf(records, collection, `${prefix}${digit}`);
}
