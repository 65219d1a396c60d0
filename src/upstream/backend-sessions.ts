/**
 * The upstream sessions to one backend: one for all clients where it is modern, one for each client session where it is
 * legacy, and over stdio a process for each.
 */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Discovery, UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import type { Era } from '../wire/revisions.ts';
import { asFailure } from './as-failure.ts';
import type { LiveBackend } from './backend.ts';
import type { BackendOptions } from './backend-options.ts';
import type { ChannelSink } from './channel.ts';
import { Deadlines } from './deadlines.ts';
import { LastInitialize } from './discovery.ts';
import { outOfService } from './health.ts';
import { type LegacyOptions, LegacyUpstreamSession } from './legacy.ts';
import { LiveListProcesses } from './list-processes.ts';
import { ModernUpstreamSession } from './modern.ts';
import type { Probed } from './probe.ts';
import type { ProbedSession } from './probe-connection.ts';
import { openProbedChannel } from './probed-channel.ts';
import { SharedChannel } from './shared.ts';
import { SharedLegacy } from './shared-legacy.ts';
import { ListRelay } from './standalone-state.ts';

export class BackendSessions {
  /** Set while the backend is known to be modern. */
  modern: ModernUpstreamSession | undefined;
  /** Only where each session has its own process. */
  readonly lists: LiveListProcesses | undefined;
  readonly #options: BackendOptions;
  readonly #backend: LiveBackend;
  readonly #legacy = new Set<LegacyUpstreamSession>();
  readonly #shared: SharedLegacy | undefined;
  readonly #relay: ListRelay;
  readonly #legacyOptions: LegacyOptions;
  #isClosed = false;

  constructor(options: BackendOptions, backend: LiveBackend) {
    const { clock, limits, connector, share } = options;
    this.#options = options;
    this.#backend = backend;
    this.#relay = new ListRelay(clock, limits.changesMs);
    this.#shared = share ? new SharedLegacy() : undefined;
    this.lists = connector.transport === 'stdio' && !share ? this.#listProcesses() : undefined;
    this.#legacyOptions = this.#optionsOfLegacy();
  }

  get isIdle(): boolean {
    return this.#legacy.size === 0 && (this.modern?.isIdle ?? true);
  }

  open(era: Era, client: ClientFacts, sink: UpstreamSessionSink, owner?: string): Promise<UpstreamSession> {
    if (era === 'legacy') {
      if (this.#shared === undefined) return this.#openLegacy(client, sink, owner);
      return this.#shared.join(sink, (audience) => this.#openLegacy(client, audience));
    }
    if (this.modern === undefined) return Promise.reject(new Failure('backend_unavailable'));
    return Promise.resolve(this.modern);
  }

  async openModern({ discovery, probedChannel }: Probed): Promise<void> {
    const { connector, notes, callSlots: slots, since, limits, clock } = this.#options;
    const { health } = this.#backend;
    const connect = (sink: ChannelSink) => connector.connect('modern', sink);
    const opened = probedChannel ?? (await openProbedChannel(connect));
    // A process may end, and is started again for the next request. HTTP has a connection for each request anyway.
    const shared = connector.transport === 'stdio' ? new SharedChannel(opened, connect, health) : undefined;
    const channel = shared ?? opened.channel;
    const upstream = new ModernUpstreamSession({
      ...{ channel, ids: opened.ids, discovery, notes, slots, since, health },
      deadlines: new Deadlines(limits, clock),
      doubt: () => this.#backend.doubt(),
    });
    (shared ?? opened).attach(upstream);
    this.modern = upstream;
    if (this.#isClosed) await channel.close();
  }

  /** The backend is no longer modern. */
  async closeModern(): Promise<void> {
    const upstream = this.modern;
    this.modern = undefined;
    upstream?.shut(
      new Failure('backend_unavailable', {
        message: 'The backend has changed: its revision or capabilities differ from those of the session',
      }),
    );
    await upstream?.channel.close();
  }

  /** Keeps the probe's process, to read lists from it. */
  keepWarm({ probedChannel, agreement }: ProbedSession, { revision }: Discovery): void {
    if (this.lists === undefined || this.#isClosed) {
      probedChannel.channel.close().catch(() => undefined);
      return;
    }
    this.lists.adopt(revision, (sink) => {
      const upstream = LegacyUpstreamSession.adopt(probedChannel, agreement, sink, this.#legacyOptions);
      this.#legacy.add(upstream);
      upstream.begin();
      return upstream;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const failure = outOfService();
    this.#relay.close();
    this.lists?.close();
    this.modern?.shut(failure);
    const ends = [...this.#legacy].map((upstream) => upstream.end(failure));
    await Promise.all([...ends, this.modern?.channel.close()]);
  }

  #listProcesses(): LiveListProcesses {
    const { clock, notes, revisions } = this.#options;
    return new LiveListProcesses({
      ...{ clock, notes, revisions },
      newest: () => {
        const last = this.#backend.lastDiscovery;
        return last?.eras.includes('modern') ? undefined : last?.revision;
      },
      open: async (client, sink) => {
        await this.#backend.discover('legacy');
        const upstream = await this.#openLegacy(client, sink);
        upstream.begin();
        return upstream;
      },
    });
  }

  async #openLegacy(client: ClientFacts, sink: UpstreamSessionSink, owner?: string): Promise<LegacyUpstreamSession> {
    const probedChannel = await this.#connect(owner);
    let upstream: LegacyUpstreamSession;
    try {
      upstream = await LegacyUpstreamSession.open(probedChannel, client, sink, this.#legacyOptions);
    } catch (cause) {
      this.#backend.doubt();
      throw cause;
    }
    this.#legacy.add(upstream);
    this.#backend.confirm(upstream.discovery);
    if (!this.#isClosed) return upstream;
    const failure = outOfService();
    await upstream.end(failure);
    throw failure;
  }

  #optionsOfLegacy(): LegacyOptions {
    const { clock, limits, notes, self, revisions, since, callSlots } = this.#options;
    return {
      ...{ clock, limits, notes, self, revisions, since, health: this.#backend.health, relay: this.#relay },
      last: new LastInitialize(),
      // A process that belongs to one session does not count against the shared limit.
      slots: this.lists === undefined ? callSlots : undefined,
      ended: (gone) => void this.#legacy.delete(gone),
    };
  }

  async #connect(owner: string | undefined) {
    const began = this.#options.clock.now();
    try {
      return await openProbedChannel((sink) => this.#backend.way.connect('legacy', sink, undefined, owner));
    } catch (cause) {
      const failure = asFailure(cause);
      this.#backend.health.unreached(failure, began);
      // Only an invalid answer casts doubt on the discovery. An outage or overload says nothing about revisions.
      if (failure.reason === 'backend_invalid') this.#backend.doubt();
      throw failure;
    }
  }
}
