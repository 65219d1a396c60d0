/**
 * One backend: its discovery, its health, and the upstream sessions to it. A modern backend has one upstream session
 * for all clients; a legacy backend has one for each client session, and over stdio a process for each.
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
import type { BackendNotes } from './events.ts';
import { type HealthLimits, outOfService, replaced } from './health.ts';
import { HealthMonitor } from './health-monitor.ts';
import { type LegacyLimits, type LegacyOptions, LegacyUpstreamSession } from './legacy.ts';
import { type Half, LegacyHalf } from './legacy-half.ts';
import { LiveListProcesses } from './list-processes.ts';
import { ListRelay } from './list-relay.ts';
import { ModernUpstreamSession } from './modern.ts';
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
import { openProbedChannel, type ProbedChannel } from './probed-channel.ts';
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
  /** The connector's process starts use the same backoff. */
  readonly backoff: Backoff;
  readonly notes: BackendNotes;
  /** Who we are: a raw `Implementation`. */
  readonly self: Raw;
  /** One legacy session is shared by all clients. */
  readonly share: boolean;
  /** The operator declares that the backend keeps no state between calls. */
  readonly isStateless?: boolean;
  /** Limits concurrent calls, across all principals that share the backend. */
  readonly callSlots?: Slots | undefined;
  /** Generation of the config that created the backend. Permits of older generations are refused. */
  readonly since?: number | undefined;
  /** Revisions that may be used with the backend. Absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  /** Only one process may run, so a modern backend cannot get a second one for its legacy half. */
  readonly single?: boolean;
  /** Shared by all backends of a gateway. Absent: the first probe starts at once. */
  readonly slots?: Pick<ProbeSlots, 'run'> | undefined;
  /** Absent where the transport cannot say which gateways are behind the backend. */
  readonly behind?: Behind | undefined;
}

/** A discovery younger than this cannot be doubted, so a client that provokes errors cannot provoke probes. */
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
  /** Only where each session has its own process. */
  readonly lists: LiveListProcesses | undefined;
  readonly #monitor: HealthMonitor;
  readonly #half: LegacyHalf;
  /** Discovery of the legacy half. Legacy clients get this one, not that of the modern half. */
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
      // While the backend is down, the health monitor probes it already.
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

  /** True when nothing is in flight: the backend can be closed and reopened unnoticed. */
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
    // Wrap the listener, so that a function registered twice is called twice.
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
      // A process that belongs to one session does not count against the shared limit.
      slots: this.lists === undefined ? this.#options.callSlots : undefined,
      ended: (gone) => void this.#upstreams.delete(gone),
    };
  }

  async #legacyLine(owner?: string): Promise<ProbedChannel> {
    const { way } = this.#known ?? { way: this.#options.connector };
    const began = this.#options.clock.now();
    try {
      return await openProbedChannel((sink) => way.connect('legacy', sink, undefined, owner));
    } catch (cause) {
      const failure = asFailure(cause);
      this.#monitor.unreached(failure, began);
      // Only an invalid answer casts doubt on the discovery. An outage or overload says nothing about revisions.
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

  /**
   * Only the first probe waits for a slot, because all backends start then. Later probes have a caller waiting, and
   * backoff spreads them.
   */
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

  /** Undefined where no modern upstream session exists, or where the backend is no longer modern. */
  async #probeModern(): Promise<ProbedWay | undefined> {
    const modern = this.#modern;
    if (modern === undefined) return undefined;
    const { upstream, channel } = modern;
    const way = this.#options.connector;
    const verdict = await probeAgain({ channel, ids: channel.ids }, this.#probeOptions());
    if (verdict.kind === 'modern') {
      // The first probe found out whether there is a legacy half.
      const eras = [...new Set([...verdict.discovery.eras, ...upstream.discovery.eras])];
      const discovery = { ...verdict.discovery, eras };
      upstream.rediscovered(discovery);
      return { discovery, way };
    }
    if (verdict.kind === 'none') {
      const busy = way.transport === 'stdio' && verdict.failure.reason === 'backend_timeout';
      if (!busy) throw verdict.failure;
      // A busy process keeps its discovery. If its health was in doubt, it stays in doubt.
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

  /** Keeps the probe's process, to read lists from it. */
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

  /** Over HTTP one more `initialize` is cheap. It also corrects a slow start that looked like a refusal. */
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
    const channel = new SharedChannel(line ?? (await openProbedChannel(connect)), connect, this.#monitor);
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
   * A newly opened session reports the same facts as a probe. Where both agree, the discovery counts as fresh, which
   * saves a probe (over stdio: a process).
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
    // Report a changed consent page: the URL of the previous one may have expired.
    return isToldAlike && a.failure.data?.url === b.failure.data?.url;
  }
  return a.state === b.state;
}
