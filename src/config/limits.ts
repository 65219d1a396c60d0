/**
 * Every limit of the gateway: its default, its unit, its range, and its reason. All can be set under `limits` in
 * bascule.yaml.
 */
import type { QuantityRange, Unit } from './quantity.ts';

export interface LimitRow extends QuantityRange {
  readonly default: number;
  /** The limit that this one must not exceed. */
  readonly atMost?: string;
}

const KiB = 1024;
const MiB = 1024 * KiB;
const s = 1000;
const min = 60 * s;
const h = 60 * min;

/** The platform's timers hold 31 bits of milliseconds, not quite 25 days; a longer one fires at once. */
const longest = 24 * 24 * h;
/** V8's longest string is a little over this. */
const largest = 512 * MiB;

const bytes = (value: number, least: number, atMost?: string) => row(value, 'bytes', least, largest, atMost);
const time = (value: number, least: number, atMost?: string) => row(value, 'ms', least, longest, atMost);
const count = (value: number, least: number, most: number, atMost?: string) => row(value, 'count', least, most, atMost);

function row(value: number, unit: Unit, least: number, most: number, atMost?: string): LimitRow {
  return { default: value, unit, min: least, max: most, ...(atMost && { atMost }) };
}

export const limitTable = {
  // The console
  /** Calls that the console keeps, some 300 bytes each: minutes of a busy gateway, days of a personal one. */
  consoleCalls: count(20_000, 100, 1_000_000),
  /** Bodies of these calls together, with `console.record: bodies`. The oldest are dropped. */
  consoleBodyBytes: bytes(16 * MiB, 64 * KiB),
  // Requests from clients
  /**
   * A body is held in memory while it is checked. 4 MiB fits all reasonable arguments, and takes some 12 ms to scan, or
   * up to three times that for the shapes of `npm run bench:scan`.
   */
  bodyBytes: bytes(4 * MiB, 1 * KiB),
  /** Partly received bodies of all clients: 64 of the largest. Without credentials a body is limited to 64 KiB. */
  bodyBytesTotal: bytes(256 * MiB, 1 * MiB),
  /**
   * Partly received bodies of one address: a quarter, so that one address cannot use it all. Behind an untrusted proxy,
   * all clients have one address.
   */
  bodyBytesPerAddress: bytes(64 * MiB, 64 * KiB, 'bodyBytesTotal'),
  /** Each connection costs a descriptor and some 20 KB. Two for every possible session: its stream, and a request. */
  connectionsTotal: count(20_000, 1, 1_000_000),
  /**
   * Connections of one address: half, so that one address cannot use them all. Behind an untrusted proxy, all clients
   * have one address.
   */
  connectionsPerAddress: count(10_000, 1, 1_000_000, 'connectionsTotal'),
  /** Node's own default. A token, a session id and trace headers need a quarter of it. */
  headerBytes: bytes(16 * KiB, 1 * KiB),
  /** Real messages nest ten deep. Recursive parsers overflow at some thousands. */
  jsonDepth: count(128, 8, 1000),
  /** Members of one batch: each costs a decision and an audit record. A client that collects its calls has hundreds. */
  batchMembers: count(1000, 1, 100_000),
  /** A client that takes longer for its headers holds a socket without sending a request. */
  headersMs: time(10 * s, 100),
  /** 4 MiB in 30 s is a slow mobile connection. */
  bodyMs: time(30 * s, 100),
  /**
   * How much of the body is read for an unauthenticated request, only to echo its id. Every client's first request
   * fits.
   */
  refusedBodyBytes: bytes(64 * KiB, 1 * KiB, 'bodyBytes'),
  /** Timeout for that. Such a body arrives with its headers; otherwise the response has no id. */
  refusedBodyMs: time(2 * s, 10, 'bodyMs'),
  /** Requests in flight per session. An agent that fans out has dozens. */
  inFlightPerSession: count(256, 1, 100_000),
  /**
   * Pipelined requests per connection that wait for responses. Clients send the next request after the response, or
   * open a new connection.
   */
  requestsPerConnection: count(32, 1, 100_000),
  /**
   * From the opening of an HTTP+SSE stream until its client has a session. Clients initialize at once; others hold a
   * socket that no session limit counts.
   */
  initializeMs: time(30 * s, 100),

  // Responses to clients
  /**
   * A response that takes longer is sent as a stream, so that every proxy on the path sees headers in time. Most
   * responses are faster, and plain JSON is cheaper.
   */
  sseAfterMs: time(1 * s, 0),
  /** Proxies drop silent connections after 30 to 60 s. */
  keepAliveMs: time(15 * s, 1 * s),
  /** Above this, progress is coalesced and log messages are dropped: a client this far behind will not miss them. */
  outboxSoftBytes: bytes(1 * MiB, 1 * KiB, 'outboxBytes'),
  /** Above this, the client is not reading and is disconnected. It can resume if its revision has event ids. */
  outboxBytes: bytes(8 * MiB, 4 * KiB),
  /**
   * How long a client may read nothing of a response, in pieces of 1 MiB. A connection that transfers nothing for this
   * long is dead or malicious.
   */
  readerStallMs: time(60 * s, 100),
  /** Outboxes of all slow clients together. Above this, the largest and slowest of them are disconnected. */
  slowReaderBytes: bytes(256 * MiB, 1 * MiB),
  /** Streams of `subscriptions/listen` per principal: each costs a socket and a place in every fan-out. */
  listenStreams: count(64, 1, 100_000),
  /**
   * Resources that one legacy session, or one `subscriptions/listen`, may subscribe to: more than a person can follow.
   * Each is stored here and at its backend.
   */
  subscriptionsPerClient: count(1000, 1, 100_000),
  /**
   * The URIs of these resources together, and the whole request of a `subscriptions/listen`: a thousand URIs of twice
   * the usual length. Kept as long as the session or the stream.
   */
  subscriptionBytesPerClient: bytes(256 * KiB, 1 * KiB),
  /** GET streams per legacy session. Clients have one, and a second while the first is being lost. */
  streamsPerSession: count(16, 1, 100_000),
  /** Log lines that wait for a stalled reader of stderr: some 5,000. Later ones are dropped and counted. */
  logQueueBytes: bytes(1 * MiB, 4 * KiB),
  /** How long responses may still be sent after the signal to stop. Container runtimes kill after 10 to 30 s. */
  drainMs: time(10 * s, 0),

  // Sessions
  /**
   * A session with requests in flight is not idle. Half an hour is longer than a coffee break, and shorter than a
   * forgotten laptop.
   */
  sessionIdleMs: time(30 * min, 1 * s, 'sessionMaxMs'),
  /** A day: the longest that a revoked credential can keep a session alive. */
  sessionMaxMs: time(24 * h, 1 * s),
  /** Some clients open a session for each call, and leak them. */
  sessionsPerPrincipal: count(1000, 1, 1_000_000, 'sessionsTotal'),
  /** A session with its stream costs some 25 KB: 250 MB in total. */
  sessionsTotal: count(10_000, 1, 1_000_000),
  /**
   * Ended sessions that are stored until their ids expire, and remembered: a quarter of what a store in files takes,
   * and some 40 MB. Beyond it the older sessions of the principal with the most of them count as ended.
   */
  endedSessions: count(250_000, 1, 1_000_000),
  /** The same for one principal, which may be one that many people share: a session every two seconds for a day. */
  endedSessionsPerPrincipal: count(50_000, 1, 1_000_000, 'endedSessions'),
  /** Events kept for a client that resumes with `Last-Event-ID`; most are progress notifications. */
  eventsPerStream: count(1000, 1, 1_000_000),
  /**
   * The same in bytes: a result of several megabytes must fit, but many of them must not pile up; a larger one cannot
   * be resumed. Twice `outboxBytes`: a disconnected client resumes with the events that waited, and with those that
   * came since.
   */
  eventBytesPerStream: bytes(16 * MiB, 4 * KiB, 'eventBytesTotal'),
  /** All streams of all sessions together. Disconnected clients must not use up the memory for connected ones. */
  eventBytesTotal: bytes(256 * MiB, 4 * KiB),

  // A store in Redis
  /** A server on the same network accepts a connection in milliseconds. At start the gateway waits for so long. */
  storeConnectMs: time(5 * s, 10),
  /** One command. Redis answers within a millisecond; after this time what needs the store fails by name. */
  storeCommandMs: time(2 * s, 10),
  /**
   * A replica that was not heard of for so long is gone, and others go on with its sessions. It says that it is there
   * five times in this time.
   */
  replicaLeaseMs: time(5 * s, 500),
  /** How long a replica that is told to stop still serves what balancers send it. */
  replicaLeaveMs: time(2 * s, 0),

  // Calls to backends
  /** A backend on the same network accepts a connection in milliseconds; one on a different continent in 300. */
  connectMs: time(5 * s, 10),
  /**
   * Until the response headers. Servers that respond with plain JSON send none before the tool is done, and tools can
   * be slow.
   */
  firstByteMs: time(120 * s, 10),
  /** Between two bytes of a response. Servers send keep-alive comments every 15 to 60 s. */
  idleMs: time(120 * s, 10),
  /** One whole call, without the time that it waits for a person. */
  totalMs: time(10 * min, 100),
  /** Results are passed on without parsing, but a backend that never stops must be stopped. Images and exports fit. */
  resultBytes: bytes(64 * MiB, 4 * KiB),
  /** One line of a stdio backend: the same limit for the other transport. */
  lineBytes: bytes(64 * MiB, 4 * KiB),
  /** Timeout of the probe for a backend's era. No response means legacy. */
  probeMs: time(5 * s, 10),
  /**
   * First probes that run at once. With more backends starting together on two cores, they do not respond within
   * `probeMs`.
   */
  probesAtOnce: count(8, 1, 1000),
  /**
   * Timeout of `initialize` at a modern backend that may also speak the legacy era, for a legacy client. Half of the
   * time that clients give `initialize`.
   */
  legacyHalfMs: time(30 * s, 10),
  /**
   * A backend that has not responded for this long is named in the log. Servers that are downloaded at start need as
   * long; others hang.
   */
  slowStartMs: time(10 * s, 100),
  /** How long a backend's era is cached. Backends are upgraded seldom, but they are. */
  probeAgeMs: time(10 * min, 1 * s),
  /**
   * Failed attempts in a row until a backend counts as down and calls are refused at once. A restart may cause one;
   * after a few, no call should have to try. A failed probe counts as all of them: no call depends on it, and it has
   * its own timeout.
   */
  downAfter: count(3, 1, 1000),
  /**
   * Concurrent calls per backend: as many as a Node server handles well; over HTTP each has a connection. One principal
   * alone may use all of them.
   */
  callsPerBackend: count(256, 1, 10_000),
  /**
   * Calls that wait for one of these, served in turn by principal. If the queue is full, the principal with the most
   * waiting calls loses one to others.
   */
  queuedPerBackend: count(1024, 0, 100_000),
  /** How long a call waits in the queue. Clients give a call a minute. */
  queueMs: time(30 * s, 10),
  /**
   * Attempts to resume a broken stream without any progress in between. After that, a backend's standalone stream
   * counts as lost, and is retried further.
   */
  reconnects: count(5, 0, 1000),
  /**
   * Open streams per backend: one for each legacy session there, and for each upstream subscription. Each costs a
   * descriptor. Sessions beyond that learn of list changes through the others.
   */
  streamsPerBackend: count(1024, 1, 100_000),

  /**
   * Messages of one pipe or stream of a backend that belong to no running call, per period; every 4 KiB count as one
   * more. Reading one takes some 4 µs, forwarding or answering it several times that. Above this limit the pipe is
   * paused until the period ends. Progress and log messages of running calls have ten times this limit. All pipes and
   * streams of a backend together have twenty times: above that, those that sent more than a twentieth of it are
   * paused, and above forty times all.
   */
  unsolicitedMessages: count(1000, 1, 1_000_000_000),
  /** The period. A message that comes after a pause is not delayed for longer than a person notices. */
  unsolicitedMs: time(1 * s, 10),
  /**
   * Periods in a row above the limit, until the backend's process or stream is ended. A server that sends a burst at
   * its start is done by then.
   */
  unsolicitedPeriods: count(10, 1, 1_000_000),

  // Several backends behind one endpoint
  /**
   * How long `initialize` and `server/discover` wait for backends that have not been probed yet. A local server is up
   * by then; later ones cause a list change.
   */
  discoverWaitMs: time(3 * s, 0),
  /**
   * How long a merged list waits for one backend. After that, the list lacks its entries and says so, and the client is
   * notified when they are there. Clients that check whether a server works give it less than ten seconds.
   */
  listWaitMs: time(5 * s, 10),
  /**
   * A legacy backend does not say how long its list is valid. The list of one that sends list changes is cached for
   * this long.
   */
  listGoodMs: time(5 * min, 0),
  /** The list of one that sends none is cached for this long. */
  listUnsureMs: time(5 * s, 0, 'listGoodMs'),
  /**
   * Entries per page of a merged list. Some clients read only the first page, so it has as many as any of them can use.
   */
  listPageEntries: count(1000, 1, 100_000),
  /** Bytes per page: very long descriptions must not overload a client. */
  listPageBytes: bytes(4 * MiB, 1 * KiB),
  /** Cached lists of all backends and principals. A tool takes 1 KB: 64,000 of them. */
  listCacheBytes: bytes(64 * MiB, 64 * KiB),
  /**
   * List changes within this time are sent as one: a backend that registers its tools one by one sends a change for
   * each.
   */
  changesMs: time(100, 0),

  // Processes
  /** A Node server takes 45 MB and more; 16 of one backend use most of a small machine. Per backend: `maxProcesses`. */
  processesPerBackend: count(16, 1, 10_000),
  /**
   * A process that is unused for this long is ended. As long as a session may be idle, or a client that pauses would
   * lose its server's state. If processes run out, an idle one is ended sooner. Per backend: `idleMs`.
   */
  processIdleMs: time(30 * min, 100),
  /**
   * The first delay before a dead process is restarted or an unreachable backend is probed again; it doubles from
   * there.
   */
  restartMinMs: time(500, 1, 'restartMaxMs'),
  /** The longest such delay: a repaired server is back within half a minute. */
  restartMaxMs: time(30 * s, 1),
  /** Each step of stopping a child process: close its stdin, then SIGTERM, then SIGKILL. */
  childStopMs: time(3 * s, 0),
  /** The tail of a child's stderr that is kept for the log: a stack trace and the lines before it. */
  stderrBytes: bytes(64 * KiB, 256),

  // Approvals
  /** How long a person may take to approve a call, and how long an approval waits for its call. */
  approvalMs: time(15 * min, 100),
  /** How long a call itself waits for another person, before its client is told to come back. Clients wait a minute. */
  approvalWaitMs: time(50 * s, 0),
  /** Questions and approvals of one principal: more than others read. */
  approvalsPerPrincipal: count(32, 1, 100_000, 'approvalsTotal'),
  /** Questions and approvals of all principals: each has its arguments, as they are shown. */
  approvalsTotal: count(1000, 1, 100_000),
  // Server requests and pending calls
  /** Timeout of a server request: a person has to read, think and type. */
  askMs: time(5 * min, 100),
  /** Open server requests per session: more than any person answers. */
  asksPerSession: count(64, 1, 100_000),
  /** Rounds of `input_required` in one call. The official client gives up after as many. */
  rounds: count(10, 1, 1000),
  /**
   * The server requests of one round, and the responses to them. As much as a body: a modern client sends all its
   * responses in one.
   */
  roundBytes: bytes(4 * MiB, 1 * KiB),
  /** How long a call stays pending. It holds an upstream session or a process while a person thinks. */
  parkedMs: time(5 * min, 100),
  /** Pending calls per principal: one must not use up all of them. */
  parkedPerPrincipal: count(32, 1, 1_000_000, 'parkedTotal'),
  /**
   * Pending calls per backend, of all principals: half of its connections. Half of its processes, too, are left to
   * others.
   */
  parkedPerBackend: count(128, 1, 1_000_000, 'parkedTotal'),
  /**
   * Upstream sessions at one legacy backend that are shared by one principal's requests without a session. At stdio
   * backends each is a process.
   */
  pooledPerPrincipal: count(32, 1, 100_000),
  /** Pending calls in total: each holds an upstream stream or a process. */
  parkedTotal: count(1000, 1, 1_000_000),
} as const satisfies Readonly<Record<string, LimitRow>>;

export type LimitName = keyof typeof limitTable;
export type Limits = { readonly [Name in LimitName]: number };

/** Limits of single calls. They depend on what a backend does, so each backend may have its own. */
export const callLimitNames = ['connectMs', 'firstByteMs', 'idleMs', 'totalMs'] as const satisfies readonly LimitName[];
export type CallLimitName = (typeof callLimitNames)[number];
export type CallLimits = { readonly [Name in CallLimitName]?: number };
export const limitNames = Object.keys(limitTable) as readonly LimitName[];

export function limitRow(name: LimitName): LimitRow {
  return limitTable[name];
}

export interface LimitConflict {
  readonly name: LimitName;
  readonly other: LimitName;
  readonly most: number;
}

/**
 * The values from the config, over the defaults. A default is lowered to a limit that the config sets for its upper
 * bound; two values from the config must not contradict each other.
 */
export function settleLimits(set: Partial<Limits>): { limits: Limits; conflicts: LimitConflict[] } {
  const conflicts: LimitConflict[] = [];
  const wanted = (name: LimitName): number => set[name] ?? limitRow(name).default;
  const settled = limitNames.map((name): { name: LimitName; value: number } => {
    const other = limitRow(name).atMost as LimitName | undefined;
    const value = wanted(name);
    if (other === undefined || value <= wanted(other)) return { name, value };
    if (set[name] !== undefined) conflicts.push({ name, other, most: wanted(other) });
    return { name, value: wanted(other) };
  });
  return { limits: Object.fromEntries(settled.map(({ name, value }) => [name, value])) as Limits, conflicts };
}

export const defaultLimits: Limits = settleLimits({}).limits;
