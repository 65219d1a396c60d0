/**
 * One backend: what it is, how it fares, and the lanes to it. A modern backend has one lane for everybody; a legacy one has a
 * lane, and over stdio a process, for each client session.
 */
import { Failure } from '../errors.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Backend, BackendState, Discovery, Lane, LaneSink } from '../exchange/lane.ts';
import type { Permit } from '../policy/permit.ts';
import type { Raw } from '../wire/compose.ts';
import type { Era } from '../wire/revisions.ts';
import type { Connector, Way } from './connector.ts';
import { type Clock, type DeadlineLimits, Deadlines } from './deadlines.ts';
import { LegacyLane, type LegacyLimits } from './legacy.ts';
import { type Line, openLine } from './line.ts';
import { ModernLane } from './modern.ts';
import type { BackendNotes } from './notes.ts';
import { type Probed, type ProbeOptions, probe, probeAgain } from './probe.ts';
import { asFailure } from './running.ts';
import { SharedChannel } from './shared.ts';
import { SharedLegacy } from './shared-legacy.ts';

export interface BackendLimits extends DeadlineLimits, LegacyLimits {
  readonly probeMs: number;
  readonly probeAgeMs: number;
}

export interface BackendOptions {
  readonly name: string;
  readonly connector: Connector;
  readonly limits: BackendLimits;
  readonly clock: Clock;
  readonly notes: BackendNotes;
  /** Who we are: a raw `Implementation`. */
  readonly self: Raw;
  /** One legacy session for everybody. */
  readonly share: boolean;
  onState?(state: BackendState): void;
}

/** Doubts about what was found out a moment ago are not followed: whoever provokes errors must not provoke probes. */
const TRUST_MS = 5000;
/** Whoever asks again right after a failure gets the same: many clients ask at once, and each probe takes its time. */
const DOWN_MS = 1000;

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
  readonly #sharedLegacy: SharedLegacy | undefined;
  #state: BackendState = { state: 'starting' };
  #known: Knowledge | undefined;
  #failed: { readonly failure: Failure; readonly at: number } | undefined;
  #probing: Promise<Discovery> | undefined;
  #modern: { readonly lane: ModernLane; readonly channel: SharedChannel } | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BackendOptions) {
    this.name = options.name;
    this.#options = options;
    this.#deadlines = new Deadlines(options.limits, options.clock);
    this.#sharedLegacy = options.share ? new SharedLegacy() : undefined;
  }

  get state(): BackendState {
    return this.#state;
  }

  get modern(): Lane | undefined {
    return this.#fresh(this.#options.clock.now()) === undefined ? undefined : this.#modern?.lane;
  }

  discover(): Promise<Discovery> {
    if (this.#closed !== undefined) return Promise.reject(new Failure('shutting_down'));
    const now = this.#options.clock.now();
    const known = this.#fresh(now);
    if (known !== undefined) return known.promise;
    if (this.#probing !== undefined) return this.#probing;
    if (this.#failed !== undefined && now - this.#failed.at < DOWN_MS) return Promise.reject(this.#failed.failure);
    this.#probing = this.#probe().finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
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

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const failure = new Failure('shutting_down');
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
    const { clock, limits, notes, self } = this.#options;
    const line = await this.#legacyLine();
    let lane: LegacyLane;
    try {
      lane = await LegacyLane.open(line, client, sink, {
        deadlines: this.#deadlines,
        clock,
        limits,
        notes,
        self,
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
    try {
      return await openLine((sink) => way.connect('legacy', sink));
    } catch (cause) {
      // It answers, and not as it is expected to. That it is away, or busy, says nothing about what it is.
      if (asFailure(cause).reason === 'backend_invalid') this.#doubt();
      throw cause;
    }
  }

  async #probe(): Promise<Discovery> {
    try {
      const { discovery, way } = (await this.#probeModern()) ?? (await this.#probeAfresh());
      if (this.#closed !== undefined) throw new Failure('shutting_down');
      this.#learn(discovery, way);
      return discovery;
    } catch (cause) {
      const failure = asFailure(cause);
      this.#failed = { failure, at: this.#options.clock.now() };
      this.#become({ state: 'down', failure });
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
      // A process that is busy is what it was.
      const busy = way.transport === 'stdio' && verdict.failure.reason === 'backend_timeout';
      if (busy) return { discovery: lane.discovery, way };
      throw verdict.failure;
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
    const channel = new SharedChannel(line ?? (await openLine(connect)), connect);
    const lane = new ModernLane({
      channel,
      ids: channel.ids,
      discovery,
      deadlines: this.#deadlines,
      notes,
      doubt: () => this.#doubt(),
    });
    channel.attach(lane);
    this.#modern = { lane, channel };
    if (this.#closed !== undefined) await channel.close();
  }

  #probeOptions(): ProbeOptions {
    const { connector, limits, clock, self } = this.#options;
    return { connector, limits, clock, self };
  }

  #fresh(now: number): Knowledge | undefined {
    const known = this.#known;
    if (known === undefined || known.doubted) return undefined;
    return now - known.at < this.#options.limits.probeAgeMs ? known : undefined;
  }

  #learn(discovery: Discovery, way: Way): void {
    const at = this.#options.clock.now();
    this.#known = { discovery, promise: Promise.resolve(discovery), way, at, doubted: false };
    this.#failed = undefined;
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

  #become(state: BackendState): void {
    if (this.#closed !== undefined) return;
    this.#state = state;
    this.#options.onState?.(state);
  }
}
