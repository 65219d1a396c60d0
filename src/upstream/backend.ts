/**
 * One backend: what it is, how it fares, and the lanes to it. A modern backend has one lane for everybody; a legacy one has a
 * lane, and over stdio a process, for each client session.
 */
import { Failure, isAboutCredentials } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type {
  Backend,
  BackendState,
  Discovery,
  UpstreamSession,
  UpstreamSessionSink,
} from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import type { Raw } from '../wire/compose.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import type { GatewayRoute } from '../wire/via.ts';
import { asFailure } from './as-failure.ts';
import type { Backoff } from './backoff.ts';
import type { Behind } from './behind.ts';
import type { Connector, TransportWay } from './connector.ts';
import { type DeadlineLimits, Deadlines, type TimerClock } from './deadlines.ts';
import { type HealthLimits, outOfService, replaced } from './health.ts';
import { HealthMonitor } from './health-monitor.ts';
import { type LegacyLimits, type LegacyOptions, LegacyUpstreamSession } from './legacy.ts';
import { type Half, LegacyHalf } from './legacy-half.ts';
import { LiveListProcesses } from './list-processes.ts';
import { ListRelay } from './list-relay.ts';
import { ModernUpstreamSession } from './modern.ts';
import type { BackendNotes } from './notes.ts';
import {
  type Probed,
  type ProbedSession,
  type ProbeOptions,
  probe,
  probeAgain,
  probeLegacyHalf,
  withLegacy,
} from './probe.ts';
import type { ProbeSlots } from './probe-slots.ts';
import { openLine, type ProbedChannel } from './probed-channel.ts';
import { SharedChannel } from './shared.ts';
import { SharedLegacy } from './shared-legacy.ts';
import type { Slots } from './slots.ts';

export interface BackendLimits extends DeadlineLimits, LegacyLimits, HealthLimits {
  readonly probeMs: number;
  readonly probeAgeMs: number;
  readonly legacyHalfMs: number;
  readonly slowStartMs: number;
  readonly restartMaxMs: number;
  readonly changesMs: number;
}

export interface BackendOptions {
  readonly name: string;
  readonly connector: Connector;
  readonly limits: BackendLimits;
  readonly clock: TimerClock;
  /** The connector's starts keep to it, too. */
  readonly backoff: Backoff;
  readonly notes: BackendNotes;
  /** Who we are: a raw `Implementation`. */
  readonly self: Raw;
  /** One legacy session for everybody. */
  readonly share: boolean;
  /** Its owner says that it keeps nothing between calls. */
  readonly isStateless?: boolean;
  /** What it is given at once by all who share a way to it. */
  readonly callSlots?: Slots | undefined;
  /** The config that brought it: no older permit is good for it. */
  readonly since?: number | undefined;
  /** Which may be spoken to it; absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  /** There is room for one process alone: a modern backend has no second one for its legacy half. */
  readonly single?: boolean;
  /** Shared by the backends of a gateway; absent: the first probe begins at once. */
  readonly slots?: Pick<ProbeSlots, 'run'> | undefined;
  /** Absent where the transport cannot say which gateways are behind the backend. */
  readonly behind?: Behind | undefined;
}

/** Doubts about what was found out a moment ago are not followed: whoever provokes errors must not provoke probes. */
const TRUST_MS = 5000;

type ProbedWay = Pick<Probed, 'discovery' | 'way'>;

interface Knowledge extends ProbedWay {
  readonly promise: Promise<Discovery>;
  at: number;
  doubted: boolean;
}

export class LiveBackend implements Backend {
  readonly name: string;
  readonly #options: BackendOptions;
  readonly #deadlines: Deadlines;
  readonly #upstreams = new Set<LegacyUpstreamSession>();
  readonly #relay: ListRelay;
  readonly #sharedLegacy: SharedLegacy | undefined;
  /** Where every session has a process of its own. */
  readonly lists: LiveListProcesses | undefined;
  readonly #monitor: HealthMonitor;
  readonly #half: LegacyHalf;
  /** What the legacy half says of itself: legacy clients are told that, and not what the modern half offers. */
  #halfDiscovery: Discovery | undefined;
  readonly #listeners = new Set<(state: BackendState) => void>();
  #state: BackendState = { state: 'starting' };
  #known: Knowledge | undefined;
  #probing: Promise<Discovery> | undefined;
  #modern: { readonly upstream: ModernUpstreamSession; readonly channel: SharedChannel } | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BackendOptions) {
    this.name = options.name;
    this.#options = options;
    this.#deadlines = new Deadlines(options.limits, options.clock);
    this.#relay = new ListRelay(options.clock, options.limits.changesMs);
    this.#sharedLegacy = options.share ? new SharedLegacy() : undefined;
    const hasProcesses = options.connector.transport === 'stdio' && !options.share;
    this.lists = hasProcesses ? this.#listProcesses() : undefined;
    this.#monitor = new HealthMonitor({
      limits: options.limits,
      backoff: options.backoff,
      clock: options.clock,
      look: () =>
        this.#look().then(
          () => undefined,
          () => undefined,
        ),
      turned: (down) => this.#turned(down),
    });
    this.#half = new LegacyHalf({
      ask: () => this.#askHalf(),
      found: () => this.#foundHalf(),
      clock: options.clock,
      pauseMs: options.limits.restartMaxMs,
    });
    options.behind?.attach({
      // While it is down, it is looked at anyway.
      look: () => (this.#monitor.isDown ? undefined : void this.#look().catch(() => undefined)),
      suspect: () => this.#monitor.suspected(),
    });
  }

  get isStateless(): boolean {
    return this.#options.isStateless === true;
  }

  get state(): BackendState {
    return this.#state;
  }

  get behind(): readonly GatewayRoute[] {
    return this.#options.behind?.told ?? [];
  }

  get lastDiscovery(): Discovery | undefined {
    return this.#known?.discovery;
  }

  /** Nothing is under way: it can be closed and opened again without anybody noticing. */
  get isIdle(): boolean {
    if (this.#probing !== undefined || this.#half.isAsking) return false;
    return this.#upstreams.size === 0 && (this.#modern?.upstream.isIdle ?? true);
  }

  get hearers(): number {
    return this.#listeners.size;
  }

  get modern(): UpstreamSession | undefined {
    return this.#fresh(this.#options.clock.now()) === undefined ? undefined : this.#modern?.upstream;
  }

  onChange(listener: (state: BackendState) => void): () => void {
    // Each is heard on its own account, even where one function is given twice.
    const own = (state: BackendState) => listener(state);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  discover(wanted: Era = 'modern'): Promise<Discovery> {
    return wanted === 'modern' ? this.#discover() : this.#discoverHalf();
  }

  #discover(): Promise<Discovery> {
    if (this.#closed !== undefined) return Promise.reject(outOfService());
    const refusal = this.#monitor.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#fresh(this.#options.clock.now())?.promise ?? this.#look();
  }

  async #discoverHalf(): Promise<Discovery> {
    const discovery = await this.#discover();
    if (!discovery.eras.includes('legacy')) await this.#half.seek();
    return this.#halfDiscovery ?? this.lastDiscovery ?? discovery;
  }

  async #askHalf(): Promise<Half> {
    const { half, discovery } = await probeLegacyHalf(this.#probeOptions());
    this.#halfDiscovery = discovery && { ...discovery, eras: ['modern', 'legacy'] };
    return half;
  }

  async open(
    { generation }: Permit,
    era: Era,
    client: ClientFacts,
    sink: UpstreamSessionSink,
    owner?: string,
  ): Promise<UpstreamSession> {
    if (generation < (this.#options.since ?? 0)) throw replaced();
    const { eras } = await this.discover(era);
    if (!eras.includes(era)) {
      throw new Failure('backend_invalid', { message: `The backend speaks no ${era} revision` });
    }
    if (era === 'modern') return this.#modernLane();
    if (this.#sharedLegacy === undefined) return this.#openLegacy(client, sink, owner);
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
    const failure = outOfService();
    this.#monitor.close();
    this.#options.behind?.close();
    this.#relay.close();
    this.lists?.close();
    this.#modern?.upstream.shut(failure);
    const upstreams = [...this.#upstreams].map((upstream) => upstream.end(failure));
    await Promise.all([...upstreams, this.#modern?.channel.close()]);
    await this.#options.connector.close();
    this.#deadlines.close();
    this.#options.callSlots?.close();
  }

  #modernLane(): ModernUpstreamSession {
    if (this.#modern === undefined) throw new Failure('backend_unavailable');
    return this.#modern.upstream;
  }

  #listProcesses(): LiveListProcesses {
    const { clock, notes, revisions } = this.#options;
    return new LiveListProcesses({
      ...{ clock, notes, revisions },
      newest: () => (this.#known?.discovery.eras.includes('modern') ? undefined : this.#known?.discovery.revision),
      open: async (client, sink) => {
        await this.discover('legacy');
        const upstream = await this.#openLegacy(client, sink);
        upstream.begin();
        return upstream;
      },
    });
  }

  async #openLegacy(client: ClientFacts, sink: UpstreamSessionSink, owner?: string): Promise<LegacyUpstreamSession> {
    const line = await this.#legacyLine(owner);
    let upstream: LegacyUpstreamSession;
    try {
      upstream = await LegacyUpstreamSession.open(line, client, sink, this.#laneOptions());
    } catch (cause) {
      this.#doubt();
      throw cause;
    }
    this.#upstreams.add(upstream);
    this.#confirm(upstream.discovery);
    if (this.#closed !== undefined) {
      const failure = outOfService();
      await upstream.end(failure);
      throw failure;
    }
    return upstream;
  }

  #laneOptions(): LegacyOptions {
    const { clock, limits, notes, self, revisions, since } = this.#options;
    return {
      ...{ deadlines: this.#deadlines, clock, limits, notes, self, revisions, since, health: this.#monitor },
      relay: this.#relay,
      // A process that belongs to one session is not shared.
      slots: this.lists === undefined ? this.#options.callSlots : undefined,
      ended: (gone) => void this.#upstreams.delete(gone),
    };
  }

  async #legacyLine(owner?: string): Promise<ProbedChannel> {
    const { way } = this.#known ?? { way: this.#options.connector };
    const began = this.#options.clock.now();
    try {
      return await openLine((sink) => way.connect('legacy', sink, undefined, owner));
    } catch (cause) {
      const failure = asFailure(cause);
      this.#monitor.unreached(failure, began);
      // It answers, and not as it is expected to. That it is away, or busy, says nothing about what it is.
      if (failure.reason === 'backend_invalid') this.#doubt();
      throw failure;
    }
  }

  #look(): Promise<Discovery> {
    if (this.#probing !== undefined) return this.#probing;
    const { clock, limits, notes } = this.#options;
    const seconds = Math.round(limits.slowStartMs / 1000);
    const stop = clock.after(limits.slowStartMs, () =>
      notes.odd('slow', `the backend has not answered for ${seconds} s, neither server/discover nor initialize`),
    );
    this.#probing = this.#paced(() => this.#probe()).finally(() => {
      stop();
      this.#probing = undefined;
    });
    return this.#probing;
  }

  /** The first time, when others are being started, too. Afterwards a caller waits, and pauses keep backends apart. */
  #paced(probe: () => Promise<Discovery>): Promise<Discovery> {
    const { slots } = this.#options;
    return slots === undefined || this.#state.state !== 'starting' ? probe() : slots.run(probe);
  }

  async #probe(): Promise<Discovery> {
    try {
      const { behind } = this.#options;
      const find = async () => (await this.#probeModern()) ?? (await this.#probeAfresh());
      const { discovery, way } = await (behind === undefined ? find() : behind.during(find));
      if (this.#closed !== undefined) throw outOfService();
      this.#learn(discovery, way);
      this.#seekHalf();
      return discovery;
    } catch (cause) {
      const failure = asFailure(cause);
      this.#monitor.lookFailed(failure);
      if (isAboutCredentials(failure)) this.#become({ state: 'refused', failure });
      throw failure;
    }
  }

  /** Undefined where no modern backend is known, or it is one no longer. */
  async #probeModern(): Promise<ProbedWay | undefined> {
    const modern = this.#modern;
    if (modern === undefined) return undefined;
    const { upstream, channel } = modern;
    const way = this.#options.connector;
    const verdict = await probeAgain({ channel, ids: channel.ids }, this.#probeOptions());
    if (verdict.kind === 'modern') {
      // Whether it has a legacy half besides was found out when it was first probed.
      const eras = [...new Set([...verdict.discovery.eras, ...upstream.discovery.eras])];
      const discovery = { ...verdict.discovery, eras };
      upstream.rediscovered(discovery);
      return { discovery, way };
    }
    if (verdict.kind === 'none') {
      const busy = way.transport === 'stdio' && verdict.failure.reason === 'backend_timeout';
      if (!busy) throw verdict.failure;
      // A process that is busy is what it was. Whether one that was in doubt is well remains open.
      if (this.#monitor.phase === 'closed') return { discovery: upstream.discovery, way };
      throw new Failure('backend_busy', { cause: verdict.failure });
    }
    this.#modern = undefined;
    upstream.shut(new Failure('backend_unavailable', { message: 'The backend is no longer what it was' }));
    await channel.close();
    return undefined;
  }

  async #probeAfresh(): Promise<ProbedWay> {
    const probed = await probe(this.#probeOptions());
    if (probed.discovery.eras.includes('modern')) await this.#goModern(probed);
    const { half = 'absent' } = probed;
    this.#halfDiscovery = undefined;
    this.#half.probed(half === 'unknown' && this.#options.single === true ? 'absent' : half);
    if (probed.session !== undefined) this.#keepWarm(probed.session, probed.discovery);
    return probed;
  }

  /** The process goes on serving lists. */
  #keepWarm({ line, agreement }: ProbedSession, { revision }: Discovery): void {
    if (this.lists === undefined || this.#closed !== undefined) {
      line.channel.close().catch(() => undefined);
      return;
    }
    this.lists.adopt(revision, (sink) => {
      const upstream = LegacyUpstreamSession.adopt(line, agreement, sink, this.#laneOptions());
      this.#upstreams.add(upstream);
      upstream.begin();
      return upstream;
    });
  }

  /** Over HTTP another question costs little, and a slow start must not be taken for a refusal. */
  #seekHalf(): void {
    if (this.#options.connector.transport === 'http') void this.#half.seek();
  }

  #foundHalf(): void {
    const known = this.#known;
    if (known === undefined || this.#modern === undefined) return;
    const discovery = withLegacy(known.discovery);
    this.#modern.upstream.rediscovered(discovery);
    this.#known = { ...known, discovery, promise: Promise.resolve(discovery) };
    if (this.#state.state === 'ready') this.#become({ state: 'ready', discovery });
  }

  async #goModern({ discovery, line }: Probed): Promise<void> {
    const { connector, notes, callSlots, since } = this.#options;
    const connect = (sink: Parameters<Connector['connect']>[1]) => connector.connect('modern', sink);
    const channel = new SharedChannel(line ?? (await openLine(connect)), connect, this.#monitor);
    const upstream = new ModernUpstreamSession({
      channel,
      ids: channel.ids,
      discovery,
      deadlines: this.#deadlines,
      notes,
      slots: callSlots,
      since,
      health: this.#monitor,
      doubt: () => this.#doubt(),
    });
    channel.attach(upstream);
    this.#modern = { upstream, channel };
    if (this.#closed !== undefined) await channel.close();
  }

  #probeOptions(): ProbeOptions {
    const { connector, limits, clock, self, revisions } = this.#options;
    return { connector, limits, clock, self, revisions };
  }

  #fresh(now: number): Knowledge | undefined {
    const known = this.#known;
    if (known === undefined || known.doubted || this.#monitor.isDown) return undefined;
    return now - known.at < this.#options.limits.probeAgeMs ? known : undefined;
  }

  #learn(discovery: Discovery, way: TransportWay): void {
    const at = this.#options.clock.now();
    this.#known = { discovery, promise: Promise.resolve(discovery), way, at, doubted: false };
    this.#monitor.found();
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
