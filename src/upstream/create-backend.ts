/** Creates a backend from its config: its channels and their limits. */
import type { BackendConfig, HttpBackendConfig, StdioBackendConfig } from '../config/config.ts';
import type { Limits } from '../config/limits.ts';
import type { Backend } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { CredentialProvider } from '../oauth/client/credential-provider.ts';
import type { WireTrace } from '../observe/wire-trace.ts';
import { VIA, writeVia } from '../wire/via.ts';
import { LiveBackend } from './backend.ts';
import type { Connector, TransportWay } from './backend-options.ts';
import { Backoff } from './backoff.ts';
import { Behind, type BehindOptions } from './behind.ts';
import type { BackendNotes } from './channel.ts';
import type { TimerClock } from './deadlines.ts';
import { FloodBudget } from './flood-meter.ts';
import { HttpChannel, ONE_WAY_MS } from './http/channel.ts';
import { httpContext } from './http/context.ts';
import { type CallPools, HTTP_HANDSHAKES, HTTP_QUEUE, HttpPools } from './http/pool.ts';
import { presentedPools } from './http/presented.ts';
import { SseChannel } from './http/sse-channel.ts';
import { PersonalBackend } from './personal.ts';
import type { ProbeSlots } from './probe-slots.ts';
import { Slots } from './slots.ts';
import { StdioChannel } from './stdio/channel.ts';
import { Child, STDIN_BYTES } from './stdio/child.ts';
import { ChildPool, POOL_QUEUE, POOL_WAIT_MS } from './stdio/pool.ts';
import { tracedConnector } from './traced-connector.ts';

export interface CreateOptions {
  readonly limits: Limits;
  readonly notes: BackendNotes;
  /** Version of the gateway: sent to backends in probes, and for clients that do not identify themselves. */
  readonly version: string;
  readonly clock: TimerClock;
  /** From 0 up to 1, for jitter. */
  random?(): number;
  /** Credentials for an HTTP backend beside its configured headers, and whose they are. Absent: none. */
  readonly presented?: PresentedTo;
  /** The ids of this gateway and of the gateways that started it, for the header on its HTTP requests. */
  readonly via?: Pick<BehindOptions, 'own' | 'outer' | 'hasMet'>;
  /** Given to every process beside its configured environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Paces the first probes of all backends. */
  readonly slots?: ProbeSlots;
  /** The generation of the config that creates the backend. */
  readonly since?: number;
  /** Shows every message. */
  readonly wireTrace?: WireTrace | undefined;
}

/** `shared`: one credential for all. `personal`: one for each principal. */
export type PresentedTo =
  | { readonly kind: 'shared'; readonly credentialProvider: CredentialProvider }
  | { readonly kind: 'personal'; credentialProviderFor(current: () => Principal): CredentialProvider };

export function createBackend(config: BackendConfig, given: CreateOptions): Backend {
  const options = { ...given, limits: { ...given.limits, ...config.limits } };
  const calls = new Slots(options.limits, options.clock);
  if (config.kind === 'stdio') {
    const backoff = backoffOf(options);
    return live(config, options, { probes: options.slots, calls }, backoff, stdioConnector(config, options, backoff));
  }
  const url = new URL(config.url);
  const { connectMs, headerBytes, callsPerBackend, streamsPerBackend } = options.limits;
  const connections = callsPerBackend + HTTP_HANDSHAKES;
  const pools = new HttpPools(
    { url, socket: config.socket },
    { connectMs, headerBytes, connections, queue: HTTP_QUEUE, streams: streamsPerBackend },
    () => options.notes.streamsFull(streamsPerBackend),
  );
  // One budget for all principals: they share the backend, and our event loop.
  const flood = new FloodBudget(options.limits);
  const { presented } = options;
  // A probe for one principal waits for no other: probe slots are for backends that start together.
  const over = (used: CallPools, close: () => Promise<void>, probes?: ProbeSlots) => {
    // A backend instance of one principal is not probed periodically: there may be thousands.
    const everyMs = presented?.kind === 'personal' ? undefined : options.limits.restartMaxMs;
    const { own = '', outer = [], hasMet = () => false } = options.via ?? {};
    const behind = new Behind({ own, outer, hasMet, clock: options.clock, everyMs });
    const connector = httpConnector(config, options, used, { flood, behind }, close);
    return live(config, options, { probes, calls }, backoffOf(options), connector, behind);
  };
  if (presented?.kind !== 'personal') {
    const used = presented === undefined ? pools : presentedPools(pools, presented.credentialProvider);
    return over(used, () => pools.close(), options.slots);
  }
  return new PersonalBackend({
    name: config.name,
    open: (current) => over(presentedPools(pools, presented.credentialProviderFor(current)), async () => undefined),
    idleMs: options.limits.processIdleMs,
    clock: options.clock,
    notes: options.notes,
    close: () => pools.close(),
  });
}

function backoffOf({ limits, random = Math.random }: CreateOptions): Backoff {
  return new Backoff(limits, random);
}

function live(
  config: BackendConfig,
  options: CreateOptions,
  slots: { readonly probes: ProbeSlots | undefined; readonly calls: Slots },
  backoff: Backoff,
  connector: Connector,
  behind?: Behind,
): LiveBackend {
  const { limits, clock, notes, version, wireTrace } = options;
  return new LiveBackend({
    name: config.name,
    connector: wireTrace === undefined ? connector : tracedConnector(connector, config.name, wireTrace),
    limits,
    clock,
    backoff,
    notes,
    self: JSON.stringify({ name: 'bascule', version }),
    share: config.kind === 'stdio' && config.share,
    isStateless: config.kind === 'stdio' && config.state === 'none',
    revisions: config.profile?.revisions,
    single: config.kind === 'stdio' && processesOf(config) === 1,
    slots: slots.probes,
    callSlots: slots.calls,
    since: options.since,
    behind,
  });
}

/** A shared backend needs one process for each era that it may use. */
function processesOf({ share, maxProcesses }: StdioBackendConfig): number {
  return share ? 2 : maxProcesses;
}

function stdioConnector(config: StdioBackendConfig, options: CreateOptions, backoff: Backoff): Connector {
  const { limits, clock, notes } = options;
  const command = {
    command: config.command,
    args: config.args,
    env: { ...config.env, ...options.environment },
    ...(config.cwd === undefined ? {} : { cwd: config.cwd }),
    ...(config.user === undefined ? {} : { user: config.user }),
    ...(config.sandbox === undefined ? {} : { sandbox: config.sandbox }),
  };
  const flood = new FloodBudget(limits);
  const pool = new ChildPool({
    start: () => Child.start({ command, limits: { ...limits, stdinBytes: STDIN_BYTES }, flood, clock, notes }),
    limits: {
      maxProcesses: processesOf(config),
      idleMs: config.idleMs,
      isStateless: config.state === 'none',
      queue: POOL_QUEUE,
      waitMs: POOL_WAIT_MS,
    },
    clock,
    backoff,
  });
  return {
    transport: 'stdio',
    connect: async (_era, sink, patienceMs, owner) =>
      new StdioChannel({ child: await pool.acquire(patienceMs, owner), sink, notes }),
    get processes() {
      return pool.size;
    },
    close: () => pool.close(),
  };
}

function httpConnector(
  config: HttpBackendConfig,
  options: CreateOptions,
  pools: CallPools,
  { flood, behind }: { readonly flood: FloodBudget; readonly behind: Behind },
  close: () => Promise<void>,
): Connector {
  const { limits, clock, notes, random = Math.random } = options;
  const url = new URL(config.url);
  const { via } = options;
  const headers = via === undefined ? config.headers : { ...config.headers, [VIA]: writeVia([via.own, ...via.outer]) };
  const told = (via: string) => behind.heard(via);
  const shared = { url, pools, headers, flood, clock, notes, told };
  const channelLimits = { ...limits, oneWayMs: ONE_WAY_MS };
  const modern = httpContext({ ...shared, resumable: false, limits: channelLimits, random });
  const legacy = { ...modern, resumable: true };
  const streamable: TransportWay = {
    transport: 'http',
    connect: async (era, sink) => new HttpChannel(era === 'legacy' ? legacy : modern, sink),
  };
  const older: TransportWay = {
    transport: 'sse',
    connect: (_era, sink, endpointMs = limits.firstByteMs) =>
      SseChannel.open({ ...shared, limits: { ...channelLimits, endpointMs }, sink }),
  };
  switch (config.transport) {
    case 'streamable-http':
      return { ...streamable, close };
    case 'sse':
      return { ...older, close };
    case 'auto':
      return { ...streamable, older, close };
  }
}
