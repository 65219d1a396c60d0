/**
 * Every limit of the gateway: its default, its unit, what it may be set to, and why it is what it is.
 * All of them can be set under `limits:` in bascule.yaml.
 */
import type { Unit } from './quantity.ts';

export interface LimitRow {
  readonly default: number;
  readonly unit: Unit;
  readonly min: number;
  readonly max: number;
  /** A limit that this one can't exceed without becoming meaningless. */
  readonly atMost?: string;
}

const KiB = 1024;
const MiB = 1024 * KiB;
const s = 1000;
const min = 60 * s;
const h = 60 * min;

/** Timers of the platform hold 31 bits of milliseconds, not quite 25 days; a longer one fires at once. */
const longest = 24 * 24 * h;
/** The longest string that V8 makes is a little over this. */
const largest = 512 * MiB;

const bytes = (value: number, least: number, atMost?: string): LimitRow => row(value, 'bytes', least, largest, atMost);
const time = (value: number, least: number, atMost?: string): LimitRow => row(value, 'ms', least, longest, atMost);
const count = (value: number, least: number, most: number, atMost?: string): LimitRow =>
  row(value, 'count', least, most, atMost);

function row(value: number, unit: Unit, least: number, most: number, atMost?: string): LimitRow {
  return { default: value, unit, min: least, max: most, ...(atMost === undefined ? {} : { atMost }) };
}

export const limitTable = {
  // What comes in
  /** A body is held whole while it is checked; 4 MiB carries every sane argument, and costs some 12 ms to scan, and
   * up to three times that in the shapes of `npm run bench:scan`. */
  bodyBytes: bytes(4 * MiB, 1 * KiB),
  /** Half-sent bodies of all clients: 64 of the largest. Those of senders without credentials are 64 KiB at most. */
  bodyBytesTotal: bytes(256 * MiB, 1 * MiB),
  /** Of one address: a quarter, so that one cannot take all. Behind a proxy that is not trusted, all clients are one address. */
  bodyBytesPerAddress: bytes(64 * MiB, 64 * KiB, 'bodyBytesTotal'),
  /** Each costs a descriptor and some 20 KB. Two for every session there may be: its stream, and a request. */
  connectionsTotal: count(20_000, 1, 1_000_000),
  /** Of one address: half, so that one cannot take all. Behind a proxy that is not trusted, all clients are one address. */
  connectionsPerAddress: count(10_000, 1, 1_000_000, 'connectionsTotal'),
  /** Node's own default; a token, a session id and trace headers need a quarter of it. */
  headerBytes: bytes(16 * KiB, 1 * KiB),
  /** Real messages nest ten deep. Readers that recurse overflow at some thousands. */
  jsonDepth: count(128, 8, 1000),
  /** Members of one batch: each is a decision and a record. A client that gathers its calls has hundreds. */
  batchMembers: count(1000, 1, 100_000),
  /** A client that needs longer for its headers is holding a socket, not sending a request. */
  headersMs: time(10 * s, 100),
  /** 4 MiB in 30 s is a slow mobile line. */
  bodyMs: time(30 * s, 100),
  /** What is read of a body whose sender is not let in, only to echo its id. Every first request of a client fits. */
  refusedBodyBytes: bytes(64 * KiB, 1 * KiB, 'bodyBytes'),
  /** How long that may take: such a body comes with its headers. Then the answer goes out without an id. */
  refusedBodyMs: time(2 * s, 10, 'bodyMs'),
  /** Requests that one session may have unanswered. An agent that fans out has dozens. */
  inFlightPerSession: count(256, 1, 100_000),
  /** Requests of one connection whose answers are still due, one behind the other. Clients send the next one when they have the answer, or open another connection. */
  requestsPerConnection: count(32, 1, 100_000),
  /** From the opening of a stream of HTTP+SSE until its client has a session. Clients initialize at once; who does not holds a socket that no limit of sessions counts. */
  initializeMs: time(30 * s, 100),

  // What goes out to clients
  /** An answer not there by then goes out as a stream, so that every proxy on the way sees headers in time. Most answers are faster, and plain JSON is cheaper. */
  sseAfterMs: time(1 * s, 0),
  /** Proxies drop silent connections after 30 to 60 s. */
  keepAliveMs: time(15 * s, 1 * s),
  /** Above this, progress is coalesced and log messages are dropped: a reader this far behind won't miss them. */
  outboxSoftBytes: bytes(1 * MiB, 1 * KiB, 'outboxBytes'),
  /** Above this the client reads nothing and is cut off. It can resume where its revision has event ids. */
  outboxBytes: bytes(8 * MiB, 4 * KiB),
  /** How long a client may take nothing of what is ready for it, in pieces of 1 MiB. A line that moves nothing for so long is dead or malicious. */
  readerStallMs: time(60 * s, 100),
  /** What waits for all slow readers together. Above this the largest and slowest of them are cut off. */
  slowReaderBytes: bytes(256 * MiB, 1 * MiB),
  /** Streams of `subscriptions/listen` that one principal may hold: each is a socket and a place in every fan-out. */
  listenStreams: count(64, 1, 100_000),
  /** Resources that one legacy session, or one `subscriptions/listen`, may watch: more than a person can. Each is kept here and at its backend. */
  subscriptionsPerClient: count(1000, 1, 100_000),
  /** Their addresses together, and the whole request of a `subscriptions/listen`: a thousand of twice the usual length. Kept as long as the session or the stream. */
  subscriptionBytesPerClient: bytes(256 * KiB, 1 * KiB),
  /** Streams that one legacy session may hold open with GET. Clients have one, and a second while the first is being lost. */
  streamsPerSession: count(16, 1, 100_000),
  /** Log lines that wait for a reader of stderr that stalls: some 5,000. Later ones are dropped and counted. */
  logQueueBytes: bytes(1 * MiB, 4 * KiB),
  /** How long answers may still go out after we were told to stop. Container runtimes kill after 10 to 30 s. */
  drainMs: time(10 * s, 0),

  // Sessions
  /** A session with work in flight is not idle. Half an hour outlasts a coffee break, not a forgotten laptop. */
  sessionIdleMs: time(30 * min, 1 * s, 'sessionMaxMs'),
  /** A day: what a credential that was taken away could still keep alive. */
  sessionMaxMs: time(24 * h, 1 * s),
  /** Clients that open a session for each call exist, and leak them. */
  sessionsPerPrincipal: count(1000, 1, 1_000_000, 'sessionsTotal'),
  /** A session with its stream costs some 25 KB here: 250 MB. */
  sessionsTotal: count(10_000, 1, 1_000_000),
  /** Events kept for a client that comes back with `Last-Event-ID`; progress reports dominate. */
  eventsPerStream: count(1000, 1, 1_000_000),
  /** The same in bytes: a result of several megabytes must fit, a stream of them must not pile up; a larger one cannot be resumed. Twice `outboxBytes`: a reader that was cut off comes back for what waited, and for what came since. */
  eventBytesPerStream: bytes(16 * MiB, 4 * KiB, 'eventBytesTotal'),
  /** All streams of all sessions together. Clients that are away must not take the memory of those that are here. */
  eventBytesTotal: bytes(256 * MiB, 4 * KiB),

  // What backends are given
  /** A backend on the same network answers a SYN in milliseconds; over the ocean in 300. */
  connectMs: time(5 * s, 10),
  /** Until the headers of an answer. Servers that answer in plain JSON send none before the tool is done, and tools take their time. */
  firstByteMs: time(120 * s, 10),
  /** Between two bytes of an answer. Servers send keep-alive comments every 15 to 60 s. */
  idleMs: time(120 * s, 10),
  /** One call, all in all, the time in which it waits for a person not counted. */
  totalMs: time(10 * min, 100),
  /** A result is passed on unread, but a backend that never stops must be stopped. Images and exports fit. */
  resultBytes: bytes(64 * MiB, 4 * KiB),
  /** One line of a stdio backend: the same thing in another transport. */
  lineBytes: bytes(64 * MiB, 4 * KiB),
  /** How long a backend may think about what era it is of. Silence means legacy. */
  probeMs: time(5 * s, 10),
  /** Backends that are probed for the first time at once. More of them, started together on two cores, do not answer within `probeMs`. */
  probesAtOnce: count(8, 1, 1000),
  /** How long a modern backend may think about `initialize`, where it is not known whether it speaks the legacy era too and a legacy client has come. Half of what clients give `initialize`. */
  legacyHalfMs: time(30 * s, 10),
  /** A backend that is looked for and has said nothing for so long is named in the log. Servers that are downloaded when they are started need as long; others hang. */
  slowStartMs: time(10 * s, 100),
  /** A backend is upgraded seldom, but it is: what we know about its era gets old. */
  probeAgeMs: time(10 * min, 1 * s),
  /** Attempts in a row that did not reach a backend, until it counts as down and callers are refused at once. One may have been cut by a restart; after a few nobody should have to try. A probe counts for all of them: it is nobody's work, and has time of its own. */
  downAfter: count(3, 1, 1000),
  /** Calls that one backend is given at once: as many as a node server serves without trouble, and over HTTP each has a connection. One principal alone may use all of them. */
  callsPerBackend: count(256, 1, 10_000),
  /** Calls that wait for one of these, principals in turn. Where that is full, whoever has most in it gives way to others. */
  queuedPerBackend: count(1024, 0, 100_000),
  /** How long a call waits for its turn. Clients give a call a minute. */
  queueMs: time(30 * s, 10),
  /** Attempts to take up a cut stream again without any progress in between. A backend's standalone stream counts as lost then, and is tried further. */
  reconnects: count(5, 0, 1000),
  /** Streams to one backend that stay open: one for each legacy session there, and for each upstream subscription. Each is a descriptor. Sessions beyond that hear of list changes through the others. */
  streamsPerBackend: count(1024, 1, 100_000),

  /**
   * Messages of one pipe or stream of a backend that belong to no running call, in one period; 4 KiB count as one more.
   * Reading one takes some 4 µs, passing it on or answering it several times that. Above it the pipe is paused until
   * the period ends. Progress and log messages of running calls have ten times as much; all pipes and streams of a
   * backend together, twenty times: above that, those that sent more than a twentieth of it are paused, and above forty
   * times all.
   */
  unsolicitedMessages: count(1000, 1, 1_000_000_000),
  /** That period. What comes after a pause waits for no longer than a person notices. */
  unsolicitedMs: time(1 * s, 10),
  /**
   * Periods in a row above it, until the backend's process or stream is ended. A server that dumps what it has at its
   * start is done by then.
   */
  unsolicitedPeriods: count(10, 1, 1_000_000),

  // Many backends behind one endpoint
  /** How long `initialize` and `server/discover` wait for backends of which nothing is known yet. A local server is there by then; what comes later is told by a list change. */
  discoverWaitMs: time(3 * s, 0),
  /** How long a merged list waits for one backend; it is then without that one's entries, says so, and the client is told when they are there. Clients that look whether a server works give it less than ten seconds. */
  listWaitMs: time(5 * s, 10),
  /** A legacy backend does not say how long its list is good. One that tells of changes is believed for so long. */
  listGoodMs: time(5 * min, 0),
  /** One that does not is asked again after so long. */
  listUnsureMs: time(5 * s, 0, 'listGoodMs'),
  /** Entries on one page of a merged list. There are clients that read the first page only: as many as any of them can use. */
  listPageEntries: count(1000, 1, 100_000),
  /** Bytes of one page, in which an endless description must not make a client choke. */
  listPageBytes: bytes(4 * MiB, 1 * KiB),
  /** Lists that are kept, of all backends and principals. A tool takes 1 KB: 64,000 of them. */
  listCacheBytes: bytes(64 * MiB, 64 * KiB),
  /** Changes of lists that come within so long are told once: a backend that registers its tools one by one says so for each. */
  changesMs: time(100, 0),

  // Processes
  /** A node server takes 45 MB and up; 16 of one backend are most of a small machine. Per backend: `maxProcesses`. */
  processesPerBackend: count(16, 1, 10_000),
  /** A process that nobody used for so long is ended. As long as a session may be idle, or a client that pauses would lose its server's state; where processes run out, an idle one makes room sooner. Per backend: `idleMs`. */
  processIdleMs: time(30 * min, 100),
  /** The first wait before a process that died is started again, or a backend that could not be reached is looked at again; it doubles from there. */
  restartMinMs: time(500, 1, 'restartMaxMs'),
  /** Where the doubling ends: a server that is mended is back within half a minute. */
  restartMaxMs: time(30 * s, 1),
  /** Each step of ending a child: close its stdin, then SIGTERM, then SIGKILL. */
  childStopMs: time(3 * s, 0),
  /** The tail of a child's stderr that is kept for the log: a stack trace and what led up to it. */
  stderrBytes: bytes(64 * KiB, 256),

  // Asks and parked calls
  /** A person has to read, think and type. */
  askMs: time(5 * min, 100),
  /** Asks that wait in one session: more than any person answers. */
  asksPerSession: count(64, 1, 100_000),
  /** Rounds of `input_required` in one call. The official client gives up after as many. */
  rounds: count(10, 1, 1000),
  /** The questions of one round, and the answers to them. As much as a body: a modern client brings all its answers in one. */
  roundBytes: bytes(4 * MiB, 1 * KiB),
  /** A parked call holds a backend session or a process while a person thinks. */
  parkedMs: time(5 * min, 100),
  /** One principal must not take all the parking. */
  parkedPerPrincipal: count(32, 1, 1_000_000, 'parkedTotal'),
  /** Calls of all principals that wait at one backend: half of the connections that there are to it. Of processes, too, half are left to others. */
  parkedPerBackend: count(128, 1, 1_000_000, 'parkedTotal'),
  /** Upstream sessions at one legacy backend that the requests of one principal without a session share. At stdio backends each is a process. */
  pooledPerPrincipal: count(32, 1, 100_000),
  /** Each holds an upstream stream, or a process. */
  parkedTotal: count(1000, 1, 1_000_000),
} as const satisfies Readonly<Record<string, LimitRow>>;

export type LimitName = keyof typeof limitTable;
export type Limits = { readonly [Name in LimitName]: number };

/** Limits of single calls. They depend on what a backend does, so that each backend may have its own. */
export const callLimitNames = ['connectMs', 'firstByteMs', 'idleMs', 'totalMs'] as const satisfies readonly LimitName[];
export type CallLimitName = (typeof callLimitNames)[number];
export type CallLimits = { readonly [Name in CallLimitName]?: number };
export type CallLimitsDraft = { readonly [Name in CallLimitName]?: number | undefined };

export function ownLimits({ limits }: { readonly limits?: CallLimitsDraft | undefined }): {
  readonly limits?: CallLimits;
} {
  if (limits === undefined) return {};
  const set = callLimitNames.filter((name) => limits[name] !== undefined);
  return { limits: Object.fromEntries(set.map((name) => [name, limits[name]])) };
}

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
 * What the user set, over the defaults. A default gives way to a lower limit that the user set above it; two values
 * that the user set must not contradict each other.
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
