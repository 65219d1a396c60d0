/** A backend from its configuration: which channels it is reached by, and the limits of each. */
import type { BackendConfig, HttpBackendConfig, StdioBackendConfig } from '../config/config.ts';
import type { Limits } from '../config/limits.ts';
import { LiveBackend } from './backend.ts';
import type { Connector, Way } from './connector.ts';
import type { Clock } from './deadlines.ts';
import { HANDOVER_MS, HttpChannel } from './http/channel.ts';
import type { HeaderRecord } from './http/headers.ts';
import { HTTP_CONNECTIONS, HTTP_QUEUE, HTTP_STREAMS, HttpPools } from './http/pool.ts';
import { SseChannel } from './http/sse-channel.ts';
import type { BackendNotes } from './notes.ts';
import { Pace } from './pace.ts';
import { StdioChannel } from './stdio/channel.ts';
import { Child, STDIN_BYTES } from './stdio/child.ts';
import { ChildPool, POOL_QUEUE, POOL_WAIT_MS } from './stdio/pool.ts';

export interface CreateOptions {
  readonly limits: Limits;
  readonly notes: BackendNotes;
  /** Of the gateway: what backends are told where a client says nothing of itself, and when they are probed. */
  readonly version: string;
  readonly clock: Clock;
  /** From 0 up to 1, for jitter. */
  random?(): number;
  /** What is presented to an HTTP backend beside its configured headers. The same object while nothing changed. */
  credentials?(): HeaderRecord;
}

export function createBackend(config: BackendConfig, given: CreateOptions): LiveBackend {
  const options = { ...given, limits: { ...given.limits, ...config.limits } };
  const { limits, clock, notes, version, random = Math.random } = options;
  const pace = new Pace(limits, random);
  return new LiveBackend({
    name: config.name,
    connector: config.kind === 'stdio' ? stdioConnector(config, options, pace) : httpConnector(config, options),
    limits,
    clock,
    pace,
    notes,
    self: JSON.stringify({ name: 'bascule', version }),
    share: config.kind === 'stdio' && config.share,
    revisions: config.profile?.revisions,
  });
}

function stdioConnector(config: StdioBackendConfig, { limits, clock, notes }: CreateOptions, pace: Pace): Connector {
  const command = {
    command: config.command,
    args: config.args,
    env: config.env,
    ...(config.cwd === undefined ? {} : { cwd: config.cwd }),
  };
  const pool = new ChildPool({
    start: () => Child.start({ command, limits: { ...limits, stdinBytes: STDIN_BYTES }, clock, notes }),
    limits: {
      maxProcesses: config.maxProcesses,
      idleMs: config.idleMs,
      queue: POOL_QUEUE,
      waitMs: POOL_WAIT_MS,
    },
    clock,
    pace,
  });
  return {
    transport: 'stdio',
    connect: async (_era, sink, patienceMs) => new StdioChannel({ child: await pool.acquire(patienceMs), sink, notes }),
    close: () => pool.close(),
  };
}

function httpConnector(config: HttpBackendConfig, options: CreateOptions): Connector {
  const { limits, clock, notes, random = Math.random, credentials } = options;
  const url = new URL(config.url);
  const pools = new HttpPools(url.origin, {
    connectMs: limits.connectMs,
    headerBytes: limits.headerBytes,
    connections: HTTP_CONNECTIONS,
    queue: HTTP_QUEUE,
    streams: HTTP_STREAMS,
  });
  const shared = { url, pools, headers: headersOf(config.headers, credentials), clock, notes };
  const channelLimits = { ...limits, handoverMs: HANDOVER_MS };
  const streamable: Way = {
    transport: 'http',
    connect: async (era, sink) =>
      new HttpChannel({ ...shared, resumable: era === 'legacy', limits: channelLimits, random, sink }),
  };
  const older: Way = {
    transport: 'sse',
    connect: (_era, sink, endpointMs = limits.firstByteMs) =>
      SseChannel.open({ ...shared, limits: { ...channelLimits, endpointMs }, sink }),
  };
  const close = () => pools.close();
  switch (config.transport) {
    case 'streamable-http':
      return { ...streamable, close };
    case 'sse':
      return { ...older, close };
    case 'auto':
      return { ...streamable, older, close };
  }
}

/** One object for as long as neither part changes: headers are built once from it. */
function headersOf(configured: HeaderRecord, credentials: (() => HeaderRecord) | undefined): () => HeaderRecord {
  if (credentials === undefined) return () => configured;
  let seen: HeaderRecord | undefined;
  let merged = configured;
  return () => {
    const given = credentials();
    if (given !== seen) {
      seen = given;
      merged = { ...configured, ...given };
    }
    return merged;
  };
}
