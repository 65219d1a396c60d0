/**
 * Finds out what a backend is: `server/discover`, then `initialize`, then `initialize` over HTTP+SSE. A probe declares no capabilities, so that nobody asks
 * it anything, and leaves nothing behind but a modern process that the lane goes on with.
 */
import { Failure } from '../errors/failure.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import { concat, errorBytes, type Raw, requestBytes, resultBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { mirroredHeaders } from '../wire/mirror.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';
import { asFailure } from './as-failure.ts';
import type { Channel } from './channel.ts';
import { METHOD_NOT_FOUND } from './codes.ts';
import type { Connector, TransportWay } from './connector.ts';
import type { TimerClock } from './deadlines.ts';
import { ownMeta } from './envelope.ts';
import { type Agreement, askInitialize, type HandshakeHeaders, newestLegacy, readAgreement } from './handshake.ts';
import { keyOf } from './ids.ts';
import { type Half, halfAfter } from './legacy-half.ts';
import { openLine, type ProbedChannel } from './probed-channel.ts';
import { type ProbeAnswer, ProbeRequest } from './question.ts';
import { judge, type Transport, takesNoPosts, type Verdict } from './verdict.ts';

export interface ProbeOptions {
  readonly connector: Pick<Connector, 'transport' | 'connect' | 'older'>;
  readonly limits: {
    /** How long the backend may think about `server/discover`, or about a stream that it was not said to have. */
    readonly probeMs: number;
    /** How long `initialize` may take: a process that is slow to start is silent until it runs. */
    readonly firstByteMs: number;
    /** How long a modern backend may think about `initialize` when a legacy client has come. */
    readonly legacyHalfMs: number;
    /** The longest pause before a process that ended is started again. */
    readonly restartMaxMs: number;
  };
  readonly clock: TimerClock;
  readonly self: Raw;
  /** Which may be spoken to it; absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
}

export interface Probed {
  readonly discovery: Discovery;
  /** What it was found to be reached by. */
  readonly way: TransportWay;
  /** Goes on with the backend, where it is modern and nothing was said to it that would bind it to the other era. */
  readonly line: ProbedChannel | undefined;
  /** A process that was initialized: whoever gets it ends it. */
  readonly session?: ProbedSession | undefined;
  /** Whether a modern backend speaks the legacy era too; absent where it is no modern one. */
  readonly half?: Half;
}

export interface ProbedSession {
  readonly line: ProbedChannel;
  readonly agreement: Agreement;
}

/** A server that refuses a revision and names another is asked once more, in that one. */
const ATTEMPTS = 2;

type ProbeTarget = Pick<ProbedChannel, 'channel' | 'ids'>;

interface Finding {
  readonly verdict: Verdict;
  readonly answer: ProbeAnswer;
  readonly question: ProbeRequest;
}

/** Rejects with a Failure where there is no verdict. */
export async function probe(options: ProbeOptions): Promise<Probed> {
  const way = options.connector;
  // It is older than the modern era, or is to be spoken to as if it were: there is nothing to discover.
  if (way.transport === 'sse' || newestModern(options) === undefined) {
    return initializeAfresh(way, await openWay(way), options);
  }
  const visit = new ProbeConnection(await openWay(way));
  let kept = false;
  try {
    const { verdict, answer, question } = await discover(visit.line, way.transport, options);
    switch (verdict.kind) {
      case 'modern':
        kept = true;
        return { ...(await withLegacyHalf(verdict.discovery, visit, options)), way, line: visit.line };
      case 'legacy': {
        const afresh = async () => initializeAfresh(way, await openWay(way, options.limits.restartMaxMs), options);
        // There are servers that exit when they are asked anything before `initialize`.
        if (way.transport === 'stdio' && answer.kind === 'failed') return await afresh();
        const initialized = await initialize(visit, options, question);
        if ('discovery' in initialized) {
          const { discovery } = initialized;
          const session = visit.handOver(way);
          kept = session !== undefined;
          return { discovery, half: halfSaid(discovery, options), way, line: undefined, session };
        }
        // Others say nothing and exit with the next line that they read: those on the Python SDK 1.3 to 1.6.
        if (way.transport === 'stdio' && initialized.answer.kind === 'failed') return await afresh();
        const failure = understoodNothing(initialized.failure);
        const { older } = options.connector;
        if (older === undefined || !takesNoPosts(answer) || !takesNoPosts(initialized.answer)) throw failure;
        return await initializeAfresh(older, await openOlder(older, failure, options), options);
      }
      default:
        throw verdict.kind === 'none' ? verdict.failure : new Failure('backend_invalid');
    }
  } finally {
    if (!kept) visit.leave();
  }
}

type Halves = Required<Pick<Probed, 'discovery' | 'half'>>;

/** Over HTTP it costs one request to find out; over stdio a process, which is not started before a legacy client comes. */
async function withLegacyHalf(discovery: Discovery, visit: ProbeConnection, options: ProbeOptions): Promise<Halves> {
  const { connector, limits } = options;
  const said = halfSaid(discovery, options);
  if (said !== 'unknown' || connector.transport !== 'http') return { discovery, half: said };
  const { half } = await askHalf(visit, options, limits.probeMs);
  return half === 'present' ? { discovery: withLegacy(discovery), half } : { discovery, half };
}

/** What follows from the versions that the backend named. */
function halfSaid(discovery: Discovery, { revisions: spoken = revisions }: ProbeOptions): Half {
  if (discovery.eras.includes('legacy')) return 'present';
  return newest(spoken, 'legacy') === undefined ? 'absent' : 'unknown';
}

/** `discovery`: what the legacy half says of itself, where it is present. It may differ from what the modern one says. */
export interface AskedHalf {
  readonly half: Half;
  readonly discovery?: Discovery;
}

async function askHalf(visit: ProbeConnection, options: ProbeOptions, patienceMs: number): Promise<AskedHalf> {
  const patient = { ...options, limits: { ...options.limits, firstByteMs: patienceMs } };
  const initialized = await initialize(visit, patient, undefined, asModernServersWant);
  if ('failure' in initialized) return { half: halfAfter(initialized.answer, options.connector.transport) };
  visit.endSession();
  return { half: 'present', discovery: initialized.discovery };
}

export function withLegacy(discovery: Discovery): Discovery {
  return { ...discovery, eras: [...new Set([...discovery.eras, 'legacy' as const])] };
}

/** Asks a modern backend whether it speaks the legacy era too, apart from what goes on with it. Never rejects. */
export async function probeLegacyHalf(options: ProbeOptions): Promise<AskedHalf> {
  const { connector, limits } = options;
  try {
    const visit = new ProbeConnection(await openWay(connector, limits.probeMs));
    try {
      return await askHalf(visit, options, limits.legacyHalfMs);
    } finally {
      visit.leave();
    }
  } catch {
    // It could not be asked: there is no process to be had, or it is being closed.
    return { half: 'unknown' };
  }
}

function newestModern({ revisions: spoken = revisions }: ProbeOptions): Revision | undefined {
  return newest(spoken, 'modern');
}
/** https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers */
const asModernServersWant = { 'mcp-method': 'initialize' };

/** A fresh way to the backend: a new process, or the same address. */
function openWay(way: TransportWay, patienceMs?: number): Promise<ProbedChannel> {
  return openLine((sink) => way.connect('modern', sink, patienceMs));
}

/** `refusal`: why it was looked for. Where there is no such stream, that is what is wrong with the backend. */
async function openOlder(older: TransportWay, refusal: Failure, { limits }: ProbeOptions): Promise<ProbedChannel> {
  try {
    return await openWay(older, limits.probeMs);
  } catch (cause) {
    const failure = asFailure(cause);
    if (failure.reason !== 'backend_invalid' && failure.reason !== 'backend_timeout') throw failure;
    const message = `${refusal.message}, and there is no HTTP+SSE stream (${failure.message})`;
    throw new Failure('backend_invalid', { message, cause: refusal });
  }
}

/**
 * A line that no lane listens to yet. Nobody waits for its end: a process may take seconds to go, and what was found out is
 * known before.
 */
class ProbeConnection {
  readonly line: ProbedChannel;
  #session: Agreement | undefined;

  constructor(line: ProbedChannel) {
    this.line = line;
    line.attach({
      stray: (message) => {
        answerKindly(line.channel, message);
        return 'none';
      },
      lost: () => undefined,
    });
  }

  agreed(agreement: Agreement): void {
    this.#session = agreement;
  }

  /** The process and what was agreed with it. Undefined where there is no process, or nothing was agreed. */
  handOver({ transport }: TransportWay): ProbedSession | undefined {
    const agreement = this.#session;
    if (transport !== 'stdio' || agreement === undefined) return undefined;
    this.#session = undefined;
    return { line: this.line, agreement };
  }

  /** Politely: the backend may count its sessions. */
  endSession(): void {
    void this.#forget();
  }

  leave(): void {
    void this.#leave();
  }

  async #leave(): Promise<void> {
    await this.#forget();
    await settled(this.line.channel.close());
  }

  async #forget(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (session?.sessionId !== undefined) await settled(this.line.channel.forget(session.headers));
  }
}

/** Whether it went well is the backend's business alone. */
async function settled(ending: Promise<void>): Promise<void> {
  await ending.catch(() => undefined);
}

/** Asks a backend that is known to be modern, on the channel that is in use. Its silence now means that it is busy. */
export async function probeAgain(known: ProbeTarget, options: ProbeOptions): Promise<Verdict> {
  const { verdict, question } = await discover(known, 'http', options);
  question.drop();
  return verdict;
}

async function discover(line: ProbeTarget, transport: Transport, options: ProbeOptions): Promise<Finding> {
  const { limits, clock } = options;
  let revision = newestModern(options) as Revision;
  for (let attempt = 1; ; attempt += 1) {
    const question = askDiscover(line, revision, options.self);
    const answer = await question.within(limits.probeMs, clock);
    const verdict = judge(answer, transport, options.revisions);
    if (verdict.kind !== 'retry') return { verdict, answer, question };
    if (attempt === ATTEMPTS) {
      const failure = new Failure('backend_invalid', { message: 'The backend refuses a revision that it says it has' });
      return { verdict: { kind: 'none', failure }, answer, question };
    }
    revision = verdict.revision;
  }
}

function askDiscover(line: ProbeTarget, revision: Revision, self: Raw): ProbeRequest {
  const id = line.ids.next();
  const params = concat(['{"_meta":', ownMeta(revision, self), '}']);
  const outgoing = {
    bytes: requestBytes(id, 'server/discover', params),
    id: keyOf(id),
    headers: mirroredHeaders('server/discover', undefined, revision),
  };
  return new ProbeRequest(line.channel, outgoing, (message) => answerKindly(line.channel, message));
}

async function initializeAfresh(way: TransportWay, line: ProbedChannel, options: ProbeOptions): Promise<Probed> {
  const visit = new ProbeConnection(line);
  let session: ProbedSession | undefined;
  try {
    const initialized = await initialize(visit, options, undefined);
    if ('failure' in initialized) {
      throw way.transport === 'sse' ? initialized.failure : understoodNothing(initialized.failure);
    }
    session = visit.handOver(way);
    return { discovery: initialized.discovery, way, line: undefined, session };
  } finally {
    if (session === undefined) visit.leave();
  }
}

type Initialized = { readonly discovery: Discovery } | { readonly failure: Failure; readonly answer: ProbeAnswer };

/**
 * `unanswered`: the probe that a process was silent on. Should it be a modern one that was merely slow to start, its answer
 * comes before that to `initialize`, and counts.
 */
async function initialize(
  visit: ProbeConnection,
  options: ProbeOptions,
  unanswered: ProbeRequest | undefined,
  headers: HandshakeHeaders = {},
): Promise<Initialized> {
  const { line } = visit;
  const { clock, limits, self, connector } = options;
  const introduction = { revision: newestLegacy(options.revisions), info: self, capabilities: '{}', headers };
  const question = askInitialize(line.channel, line.ids, introduction, (message) =>
    answerKindly(line.channel, message),
  );
  try {
    const answers: Promise<ProbeAnswer | Discovery>[] = [question.within(limits.firstByteMs, clock)];
    if (unanswered !== undefined) answers.push(lateDiscovery(unanswered, connector.transport, options.revisions));
    const first = await Promise.race(answers);
    if (!('kind' in first)) return { discovery: first };
    const initialized = readInitialized(visit, first, options.revisions);
    if ('discovery' in initialized || first.kind !== 'answered' || unanswered === undefined) return initialized;
    // A modern server that was slow to start may refuse `initialize` before it answers what it was asked first.
    const answer = await unanswered.within(limits.probeMs, clock);
    const late = judge(answer, connector.transport, options.revisions);
    return late.kind === 'modern' ? { discovery: late.discovery } : initialized;
  } finally {
    question.drop();
    unanswered?.drop();
  }
}

function lateDiscovery(
  question: ProbeRequest,
  transport: Transport,
  spoken: readonly Revision[] | undefined,
): Promise<Discovery> {
  return new Promise((resolve) => {
    question.answer
      .then((answer) => {
        const verdict = judge(answer, transport, spoken);
        if (verdict.kind === 'modern') resolve(verdict.discovery);
      })
      // What cannot be read decides nothing; `initialize` does.
      .catch(() => undefined);
  });
}

function readInitialized(
  visit: ProbeConnection,
  answer: ProbeAnswer,
  spoken: readonly Revision[] | undefined,
): Initialized {
  try {
    const agreement = readAgreement(answer, spoken);
    visit.agreed(agreement);
    return { discovery: agreement.discovery };
  } catch (cause) {
    return { failure: asFailure(cause), answer };
  }
}

function understoodNothing(cause: Failure): Failure {
  if (cause.reason !== 'backend_invalid') return cause;
  const message = `The backend understood neither server/discover nor initialize (${cause.message})`;
  return new Failure('backend_invalid', { message, cause });
}

/** Nothing is left without an answer, and nothing but a ping gets one that says yes. */
function answerKindly(channel: Channel, message: Notification | Request): void {
  if (message.kind !== 'request') return;
  const { raw } = message.id;
  const answer =
    message.method === 'ping'
      ? resultBytes(raw, '{}')
      : errorBytes(raw, { code: METHOD_NOT_FOUND, message: 'Method not found' });
  // Whether it arrives matters to the backend alone, and the probe hears by itself if the channel is gone.
  channel.post(answer, {}).catch(() => undefined);
}
