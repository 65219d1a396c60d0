/** One backend: what it is, as the last probe found out, whether it can be reached, and the sessions to it. */
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
import type { Era } from '../wire/revisions.ts';
import type { GatewayRoute } from '../wire/via.ts';
import { asFailure } from './as-failure.ts';
import type { BackendOptions, TransportWay } from './backend-options.ts';
import { BackendSessions } from './backend-sessions.ts';
import { BackendStatus } from './backend-status.ts';
import { type HealthPhase, outOfService, replaced } from './health.ts';
import { HealthMonitor } from './health-monitor.ts';
import { KnownDiscovery, type ProbedWay } from './known-discovery.ts';
import { LegacyHalf } from './legacy-half.ts';
import type { LiveListProcesses } from './list-processes.ts';
import { probe, probeAgain, probeLegacyHalf } from './probe.ts';

export class LiveBackend implements Backend {
  readonly name: string;
  readonly #options: BackendOptions;
  readonly #status: BackendStatus;
  readonly #sessions: BackendSessions;
  /** Collects what became of each attempt to reach the backend. */
  readonly health: HealthMonitor;
  readonly #half: LegacyHalf;
  #known: KnownDiscovery | undefined;
  #probing: Promise<Discovery> | undefined;
  #checkedAt: number | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BackendOptions) {
    this.name = options.name;
    this.#options = options;
    const { limits, backoff, clock, notes } = options;
    this.#status = new BackendStatus({ state: 'starting' }, notes);
    const look = () => void this.#look().catch(() => undefined);
    this.health = new HealthMonitor({ limits, backoff, clock, look, turned: (down) => this.#turned(down) });
    this.#half = new LegacyHalf({
      ask: () => probeLegacyHalf(options),
      found: () => this.#foundHalf(),
      clock,
      pauseMs: limits.restartMaxMs,
    });
    this.#sessions = new BackendSessions(options, this);
    options.behind?.attach({
      // While the backend is down, the health monitor probes it already.
      look: () => (this.health.isDown ? undefined : look()),
      suspect: () => this.health.suspected(),
    });
  }

  get isStateless(): boolean {
    return this.#options.isStateless === true;
  }

  get state(): BackendState {
    return this.#status.state;
  }

  get lists(): LiveListProcesses | undefined {
    return this.#sessions.lists;
  }

  get behind(): readonly GatewayRoute[] {
    return this.#options.behind?.told ?? [];
  }

  get checkedAt(): number | undefined {
    return this.#checkedAt;
  }

  get circuit(): HealthPhase {
    return this.health.phase;
  }

  get processes(): number | undefined {
    return this.#options.connector.processes;
  }

  get lastDiscovery(): Discovery | undefined {
    return this.#known?.discovery;
  }

  /** True when nothing is in flight: the backend can be closed and reopened unnoticed. */
  get isIdle(): boolean {
    if (this.#probing !== undefined || this.#half.isAsking) return false;
    return this.#sessions.isIdle;
  }

  /** How many listeners its changes have. */
  get hearers(): number {
    return this.#status.hearers;
  }

  get modern(): UpstreamSession | undefined {
    return this.#fresh(this.#options.clock.now()) === undefined ? undefined : this.#sessions.modern;
  }

  onChange(listener: (state: BackendState) => void): () => void {
    return this.#status.onChange(listener);
  }

  discover(wanted: Era = 'modern'): Promise<Discovery> {
    const found = this.#discover();
    return wanted === 'modern' || this.#isOfLegacy(found) ? found : this.#discoverHalf(found);
  }

  #discover(): Promise<Discovery> {
    if (this.#closed !== undefined) return Promise.reject(outOfService());
    const refusal = this.health.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#fresh(this.#options.clock.now())?.promise ?? this.#look();
  }

  /** Whether it is what is known already, and has the legacy era: there is nothing to find out then. */
  #isOfLegacy(found: Promise<Discovery>): boolean {
    const known = this.#known;
    if (known === undefined || known.promise !== found || this.#half.discovery !== undefined) return false;
    return known.discovery.eras.includes('legacy');
  }

  async #discoverHalf(found: Promise<Discovery>): Promise<Discovery> {
    const discovery = await found;
    if (!discovery.eras.includes('legacy')) await this.#half.seek();
    return this.#half.discovery ?? this.lastDiscovery ?? discovery;
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
      throw new Failure('backend_invalid', { message: `The backend supports no ${era} revision` });
    }
    return this.#sessions.open(era, client, sink, owner);
  }

  lookAgain(): void {
    this.discover().catch(() => undefined);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.health.close();
    this.#options.behind?.close();
    await this.#sessions.close();
    await this.#options.connector.close();
    this.#options.callSlots?.close();
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
      this.#checkedAt = clock.now();
    });
    return this.#probing;
  }

  /**
   * Only the first probe waits for a slot, because all backends start then. Later probes have a caller waiting, and
   * backoff spreads them.
   */
  #paced(probe: () => Promise<Discovery>): Promise<Discovery> {
    const { slots } = this.#options;
    return slots === undefined || this.state.state !== 'starting' ? probe() : slots.run(probe);
  }

  async #probe(): Promise<Discovery> {
    try {
      const { behind } = this.#options;
      const find = async () => (await this.#probeModern()) ?? (await this.#probeAfresh());
      const { discovery, way } = await (behind === undefined ? find() : behind.during(find));
      if (this.#closed !== undefined) throw outOfService();
      this.#learn(discovery, way);
      // Over HTTP one more `initialize` is cheap. It also corrects a slow start that looked like a refusal.
      if (this.#options.connector.transport === 'http') void this.#half.seek();
      return discovery;
    } catch (cause) {
      const failure = asFailure(cause);
      this.health.lookFailed(failure);
      if (isAboutCredentials(failure)) this.#become({ state: 'refused', failure });
      throw failure;
    }
  }

  /** Undefined where no modern upstream session exists, or where the backend is no longer modern. */
  async #probeModern(): Promise<ProbedWay | undefined> {
    const upstream = this.#sessions.modern;
    if (upstream === undefined) return undefined;
    const way = this.#options.connector;
    const verdict = await probeAgain(upstream, this.#options);
    if (verdict.kind === 'modern') {
      // The first probe found out whether there is a legacy half.
      const eras = [...new Set([...verdict.discovery.eras, ...upstream.discovery.eras])];
      const discovery = { ...verdict.discovery, eras };
      upstream.discovery = discovery;
      return { discovery, way };
    }
    if (verdict.kind === 'none') {
      const busy = way.transport === 'stdio' && verdict.failure.reason === 'backend_timeout';
      if (!busy) throw verdict.failure;
      // A busy process keeps its discovery. If its health was in doubt, it stays in doubt.
      if (this.health.phase === 'closed') return { discovery: upstream.discovery, way };
      throw new Failure('backend_busy', { cause: verdict.failure });
    }
    await this.#sessions.closeModern();
    return undefined;
  }

  async #probeAfresh(): Promise<ProbedWay> {
    const probed = await probe(this.#options);
    if (probed.discovery.eras.includes('modern')) await this.#sessions.openModern(probed);
    const { half = 'absent' } = probed;
    this.#half.probed(half === 'unknown' && this.#options.single === true ? 'absent' : half);
    if (probed.session !== undefined) this.#sessions.keepWarm(probed.session, probed.discovery);
    return probed;
  }

  #foundHalf(): void {
    const known = this.#known;
    const { modern } = this.#sessions;
    if (known === undefined || modern === undefined) return;
    this.#known = known.andLegacy();
    const { discovery } = this.#known;
    modern.discovery = discovery;
    if (this.state.state === 'ready') this.#become({ state: 'ready', discovery });
  }

  #fresh(now: number): KnownDiscovery | undefined {
    const known = this.#known;
    if (known === undefined || (this.health.phase !== 'closed' && this.health.isDown)) return undefined;
    return known.isFresh(now, this.#options.limits.probeAgeMs) ? known : undefined;
  }

  /** The transport by which the backend was last reached. */
  get way(): TransportWay {
    return this.#known?.way ?? this.#options.connector;
  }

  #learn(discovery: Discovery, way: TransportWay): void {
    this.#known = new KnownDiscovery({ discovery, way }, this.#options.clock.now());
    this.health.found();
    this.#become({ state: 'ready', discovery });
  }

  confirm(discovery: Discovery): void {
    this.#known?.confirm(discovery, this.#options.clock.now());
  }

  doubt(): void {
    this.#known?.doubt(this.#options.clock.now());
  }

  #turned(down: Failure | undefined): void {
    const discovery = this.lastDiscovery;
    if (down !== undefined) this.#become({ state: 'down', failure: down });
    else if (discovery !== undefined) this.#become({ state: 'ready', discovery });
  }

  #become(state: BackendState): void {
    if (this.#closed === undefined) this.#status.become(state);
  }
}
