/**
 * One backend: what it is, how it fares, and the lanes to it. A modern backend has one lane for everybody; a legacy one has a
 * lane, and over stdio a process, for each client session.
 */
import { Failure, isAboutCredentials } from '../errors.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Backend, BackendState, Discovery, Lane, LaneSink } from '../exchange/lane.ts';
import type { Permit } from '../policy/permit.ts';
import type { Raw } from '../wire/compose.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import { asFailure } from './as-failure.ts';
import type { Connector, Way } from './connector.ts';
import { type Clock, type DeadlineLimits, Deadlines } from './deadlines.ts';
import type { HealthLimits } from './health.ts';
import { Keeper } from './keeper.ts';
import { LegacyLane, type LegacyLimits } from './legacy.ts';
import { type Line, openLine } from './line.ts';
import { ListRelay } from './list-relay.ts';
import { ModernLane } from './modern.ts';
import type { BackendNotes } from './notes.ts';
import type { Pace } from './pace.ts';
import { type Probed, type ProbeOptions, probe, probeAgain } from './probe.ts';
import { SharedChannel } from './shared.ts';
import { SharedLegacy } from './shared-legacy.ts';

export interface BackendLimits extends DeadlineLimits, LegacyLimits, HealthLimits {
  readonly probeMs: number;
  readonly probeAgeMs: number;
  readonly restartMaxMs: number;
  readonly changesMs: number;
}

export interface BackendOptions {
  readonly name: string;
  readonly connector: Connector;
  readonly limits: BackendLimits;
  readonly clock: Clock;
  /** The connector's starts keep to it, too. */
  readonly pace: Pace;
  readonly notes: BackendNotes;
  /** Who we are: a raw `Implementation`. */
  readonly self: Raw;
  /** One legacy session for everybody. */
  readonly share: boolean;
  /** Which may be spoken to it; absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
}

/** Doubts about what was found out a moment ago are not followed: whoever provokes errors must not provoke probes. */
const TRUST_MS = 5000;

type Found = Pick<Probed, 'discovery' | 'way'>;

interface Knowledge extends Found {
  readonly promise: Promise<Discovery>;
  at: number;
  doubted: boolean;
}

export class LiveBackend implements Backend {
  readonly name: string;
  readonly #options: BackendOptions;
  readonly #deadlines: Deadlines;
  readonly #lanes = new Set<LegacyLane>();
  readonly #relay: ListRelay;
  readonly #sharedLegacy: SharedLegacy | undefined;
  readonly #keeper: Keeper;
  readonly #listeners = new Set<(state: BackendState) => void>();
  #state: BackendState = { state: 'starting' };
  #known: Knowledge | undefined;
  #probing: Promise<Discovery> | undefined;
  #modern: { readonly lane: ModernLane; readonly channel: SharedChannel } | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BackendOptions) {
    this.name = options.name;
    this.#options = options;
    this.#deadlines = new Deadlines(options.limits, options.clock);
    this.#relay = new ListRelay(options.clock, options.limits.changesMs);
    this.#sharedLegacy = options.share ? new SharedLegacy() : undefined;
    this.#keeper = new Keeper({
      limits: options.limits,
      pace: options.pace,
      clock: options.clock,
      look: () =>
        this.#look().then(
          () => undefined,
          () => undefined,
        ),
      turned: (down) => this.#turned(down),
    });
  }

  get state(): BackendState {
    return this.#state;
  }

  get lastDiscovery(): Discovery | undefined {
    return this.#known?.discovery;
  }

  /** Nothing is under way: it can be closed and opened again without anybody noticing. */
  get isIdle(): boolean {
    return this.#lanes.size === 0 && this.#probing === undefined && (this.#modern?.lane.isIdle ?? true);
  }

  get hearers(): number {
    return this.#listeners.size;
  }

  get modern(): Lane | undefined {
    return this.#fresh(this.#options.clock.now()) === undefined ? undefined : this.#modern?.lane;
  }

  onChange(listener: (state: BackendState) => void): () => void {
    // Each is heard on its own account, even where one function is given twice.
    const own = (state: BackendState) => listener(state);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  discover(): Promise<Discovery> {
    if (this.#closed !== undefined) return Promise.reject(new Failure('shutting_down'));
    const refusal = this.#keeper.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#fresh(this.#options.clock.now())?.promise ?? this.#look();
  }

  async open(_permit: Permit, era: Era, client: ClientFacts, sink: LaneSink): Promise<Lane> {
    const { eras } = await this.discover();
    if (!eras.includes(era)) {
      throw new Failure('backend_invalid', { message: `The backend speaks no ${era} revision` });
    }
    if (era === 'modern') return this.#modernLane();
    if (this.#sharedLegacy === undefined) return this.#openLegacy(client, sink);
    return this.#sharedLegacy.join(sink, (audience) => this.#openLegacy(client, audience));
  }

  lookAgain(): void {
    this.discover().catch(() => undefined);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const failure = new Failure('shutting_down');
    this.#keeper.close();
    this.#relay.close();
    this.#modern?.lane.shut(failure);
    const lanes = [...this.#lanes].map((lane) => lane.end(failure));
    await Promise.all([...lanes, this.#modern?.channel.close()]);
    await this.#options.connector.close();
    this.#deadlines.close();
  }

  #modernLane(): ModernLane {
    if (this.#modern === undefined) throw new Failure('backend_unavailable');
    return this.#modern.lane;
  }

  async #openLegacy(client: ClientFacts, sink: LaneSink): Promise<LegacyLane> {
    const { clock, limits, notes, self, revisions } = this.#options;
    const line = await this.#legacyLine();
    let lane: LegacyLane;
    try {
      lane = await LegacyLane.open(line, client, sink, {
        deadlines: this.#deadlines,
        clock,
        limits,
        notes,
        self,
        revisions,
        health: this.#keeper,
        relay: this.#relay,
        ended: (gone) => void this.#lanes.delete(gone),
      });
    } catch (cause) {
      this.#doubt();
      throw cause;
    }
    this.#lanes.add(lane);
    this.#confirm(lane.discovery);
    if (this.#closed !== undefined) {
      const failure = new Failure('shutting_down');
      await lane.end(failure);
      throw failure;
    }
    return lane;
  }

  async #legacyLine(): Promise<Line> {
    const { way } = this.#known ?? { way: this.#options.connector };
    const began = this.#options.clock.now();
    try {
      return await openLine((sink) => way.connect('legacy', sink));
    } catch (cause) {
      const failure = asFailure(cause);
      this.#keeper.unreached(failure, began);
      // It answers, and not as it is expected to. That it is away, or busy, says nothing about what it is.
      if (failure.reason === 'backend_invalid') this.#doubt();
      throw failure;
    }
  }

  #look(): Promise<Discovery> {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }

  async #probe(): Promise<Discovery> {
    try {
      const { discovery, way } = (await this.#probeModern()) ?? (await this.#probeAfresh());
      if (this.#closed !== undefined) throw new Failure('shutting_down');
      this.#learn(discovery, way);
      return discovery;
    } catch (cause) {
      const failure = asFailure(cause);
      this.#keeper.lookFailed(failure);
      if (isAboutCredentials(failure)) this.#become({ state: 'refused', failure });
      throw failure;
    }
  }

  /** Undefined where no modern backend is known, or it is one no longer. */
  async #probeModern(): Promise<Found | undefined> {
    const modern = this.#modern;
    if (modern === undefined) return undefined;
    const { lane, channel } = modern;
    const way = this.#options.connector;
    const verdict = await probeAgain({ channel, ids: channel.ids }, this.#probeOptions());
    if (verdict.kind === 'modern') {
      // Whether it has a legacy half besides was found out when it was first probed.
      const eras = [...new Set([...verdict.discovery.eras, ...lane.discovery.eras])];
      const discovery = { ...verdict.discovery, eras };
      lane.rediscovered(discovery);
      return { discovery, way };
    }
    if (verdict.kind === 'none') {
      const busy = way.transport === 'stdio' && verdict.failure.reason === 'backend_timeout';
      if (!busy) throw verdict.failure;
      // A process that is busy is what it was. Whether one that was in doubt is well remains open.
      if (this.#keeper.phase === 'closed') return { discovery: lane.discovery, way };
      throw new Failure('backend_busy', { cause: verdict.failure });
    }
    this.#modern = undefined;
    lane.shut(new Failure('backend_unavailable', { message: 'The backend is no longer what it was' }));
    await channel.close();
    return undefined;
  }

  async #probeAfresh(): Promise<Found> {
    const probed = await probe(this.#probeOptions());
    if (probed.discovery.eras.includes('modern')) await this.#goModern(probed);
    return probed;
  }

  async #goModern({ discovery, line }: Probed): Promise<void> {
    const { connector, notes } = this.#options;
    const connect = (sink: Parameters<Connector['connect']>[1]) => connector.connect('modern', sink);
    const channel = new SharedChannel(line ?? (await openLine(connect)), connect, this.#keeper);
    const lane = new ModernLane({
      channel,
      ids: channel.ids,
      discovery,
      deadlines: this.#deadlines,
      notes,
      health: this.#keeper,
      doubt: () => this.#doubt(),
    });
    channel.attach(lane);
    this.#modern = { lane, channel };
    if (this.#closed !== undefined) await channel.close();
  }

  #probeOptions(): ProbeOptions {
    const { connector, limits, clock, self, revisions } = this.#options;
    return { connector, limits, clock, self, revisions };
  }

  #fresh(now: number): Knowledge | undefined {
    const known = this.#known;
    if (known === undefined || known.doubted || this.#keeper.isDown) return undefined;
    return now - known.at < this.#options.limits.probeAgeMs ? known : undefined;
  }

  #learn(discovery: Discovery, way: Way): void {
    const at = this.#options.clock.now();
    this.#known = { discovery, promise: Promise.resolve(discovery), way, at, doubted: false };
    this.#keeper.found();
    this.#become({ state: 'ready', discovery });
  }

  /**
   * A session that was opened says what a probe would: where both say the same, there is no need for another probe, which
   * over stdio costs a process.
   */
  #confirm(discovery: Discovery): void {
    const known = this.#known;
    if (known === undefined || known.doubted || known.discovery.eras.includes('modern')) return;
    const same = { ...discovery, revision: known.discovery.revision };
    if (JSON.stringify(same) === JSON.stringify(known.discovery)) known.at = this.#options.clock.now();
  }

  #doubt(): void {
    const known = this.#known;
    if (known !== undefined && this.#options.clock.now() - known.at >= TRUST_MS) known.doubted = true;
  }

  #turned(down: Failure | undefined): void {
    const discovery = this.lastDiscovery;
    if (down !== undefined) this.#become({ state: 'down', failure: down });
    else if (discovery !== undefined) this.#become({ state: 'ready', discovery });
  }

  #become(state: BackendState): void {
    if (this.#closed !== undefined) return;
    const before = this.#state;
    this.#state = state;
    if (isSame(before, state)) return;
    for (const listener of [...this.#listeners]) {
      try {
        listener(state);
      } catch (cause) {
        this.#options.notes.odd('fault', 'a change of a backend', cause);
      }
    }
  }
}

function isSame(a: BackendState, b: BackendState): boolean {
  if (a.state === 'ready' && b.state === 'ready') return JSON.stringify(a.discovery) === JSON.stringify(b.discovery);
  if ((a.state === 'down' && b.state === 'down') || (a.state === 'refused' && b.state === 'refused')) {
    const isToldAlike = a.failure.reason === b.failure.reason && a.failure.message === b.failure.message;
    // A page that has ended is of no use to anybody: the new one is told.
    return isToldAlike && a.failure.data?.url === b.failure.data?.url;
  }
  return a.state === b.state;
}
