/**
 * Finds out what a backend is: `server/discover`, then `initialize`, then `initialize` over HTTP+SSE. A probe declares
 * no capabilities, so it gets no server requests. It leaves nothing behind except a channel or process that an upstream
 * session takes over.
 */
import { Failure } from '../errors/failure.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import { concat, requestBytes } from '../wire/compose.ts';
import { mirroredHeaders } from '../wire/mirror.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';
import { asFailure } from './as-failure.ts';
import type { TransportWay } from './backend-options.ts';
import { keyOf, ownMeta } from './envelope.ts';
import { type AskedHalf, type Half, halfAfter } from './legacy-half.ts';
import {
  answerKindly,
  initialize,
  ProbeConnection,
  type ProbedSession,
  type ProbeOptions,
} from './probe-connection.ts';
import { openProbedChannel, type ProbedChannel } from './probed-channel.ts';
import { type ProbeAnswer, ProbeRequest } from './question.ts';
import { judge, type Transport, takesNoPosts, type Verdict } from './verdict.ts';

export interface Probed {
  readonly discovery: Discovery;
  /** The transport by which the backend was reached. */
  readonly way: TransportWay;
  /** The channel to continue with, where the backend is modern and nothing sent on it bound it to the legacy era. */
  readonly probedChannel: ProbedChannel | undefined;
  /** An initialized process. The receiver must end it. */
  readonly session?: ProbedSession | undefined;
  /** Whether a modern backend speaks the legacy era as well; absent where it is not modern. */
  readonly half?: Half;
}

/** Where a server refuses a revision and names a different one, that one is tried once. */
const ATTEMPTS = 2;

type ProbeTarget = Pick<ProbedChannel, 'channel' | 'ids'>;

interface Finding {
  readonly verdict: Verdict;
  readonly answer: ProbeAnswer;
  readonly question: ProbeRequest;
}

/** Rejects with a Failure where the probe has no verdict. */
export async function probe(options: ProbeOptions): Promise<Probed> {
  const way = options.connector;
  // HTTP+SSE is older than the modern era, or the profile allows no modern revision: skip `server/discover`.
  if (way.transport === 'sse' || newestModern(options) === undefined) {
    return initializeAfresh(way, await openWay(way), options);
  }
  const probing = new ProbeConnection(await openWay(way));
  let kept = false;
  try {
    const { verdict, answer, question } = await discover(probing.probedChannel, way.transport, options);
    switch (verdict.kind) {
      case 'modern':
        kept = true;
        return {
          ...(await withLegacyHalf(verdict.discovery, probing, options)),
          way,
          probedChannel: probing.probedChannel,
        };
      case 'legacy': {
        const afresh = async () => initializeAfresh(way, await openWay(way, options.limits.restartMaxMs), options);
        // Some servers exit on any request before `initialize`.
        if (way.transport === 'stdio' && answer.kind === 'failed') return await afresh();
        const initialized = await initialize(probing, options, question);
        if ('discovery' in initialized) {
          const { discovery } = initialized;
          const session = probing.sessionFor(way);
          kept = session !== undefined;
          return { discovery, half: halfSaid(discovery, options), way, probedChannel: undefined, session };
        }
        // Others stay silent, and exit at the next line that they read: servers on the Python SDK 1.3 to 1.6.
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
    if (!kept) void probing.leave();
  }
}

type Halves = Required<Pick<Probed, 'discovery' | 'half'>>;

/** Over HTTP this costs one request. Over stdio it costs a process, which is started only for a legacy client. */
async function withLegacyHalf(discovery: Discovery, probing: ProbeConnection, options: ProbeOptions): Promise<Halves> {
  const { connector, limits } = options;
  const said = halfSaid(discovery, options);
  if (said !== 'unknown' || connector.transport !== 'http') return { discovery, half: said };
  const { half } = await askHalf(probing, options, limits.probeMs);
  return half === 'present' ? { discovery: withLegacy(discovery), half } : { discovery, half };
}

/** What the versions in the backend's answer imply. */
function halfSaid(discovery: Discovery, { revisions: spoken = revisions }: ProbeOptions): Half {
  if (discovery.eras.includes('legacy')) return 'present';
  return newest(spoken, 'legacy') === undefined ? 'absent' : 'unknown';
}

async function askHalf(probing: ProbeConnection, options: ProbeOptions, patienceMs: number): Promise<AskedHalf> {
  const patient = { ...options, limits: { ...options.limits, firstByteMs: patienceMs } };
  const initialized = await initialize(probing, patient, undefined, asModernServersWant);
  if ('failure' in initialized) return { half: halfAfter(initialized.answer, options.connector.transport) };
  void probing.endSession();
  return { half: 'present', discovery: initialized.discovery };
}

export function withLegacy(discovery: Discovery): Discovery {
  return { ...discovery, eras: [...new Set([...discovery.eras, 'legacy' as const])] };
}

/** Asks a modern backend whether it speaks the legacy era as well, on a separate channel. Never rejects. */
export async function probeLegacyHalf(options: ProbeOptions): Promise<AskedHalf> {
  const { connector, limits } = options;
  try {
    const probing = new ProbeConnection(await openWay(connector, limits.probeMs));
    try {
      return await askHalf(probing, options, limits.legacyHalfMs);
    } finally {
      void probing.leave();
    }
  } catch {
    // The backend could not be asked: no process is available, or it is being closed.
    return { half: 'unknown' };
  }
}

function newestModern({ revisions: spoken = revisions }: ProbeOptions): Revision | undefined {
  return newest(spoken, 'modern');
}
/**
 * Modern servers want the mirrored method header on `initialize` as well:
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
const asModernServersWant = { 'mcp-method': 'initialize' };

/** Opens a new channel: a new process, or the same address. */
function openWay(way: TransportWay, patienceMs?: number): Promise<ProbedChannel> {
  return openProbedChannel((sink) => way.connect('modern', sink, patienceMs));
}

/** `refusal`: why HTTP+SSE is tried. If there is no such stream either, the error reports both. */
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

/** Probes a backend that is known to be modern, on the channel in use. Silence means that it is busy. */
export async function probeAgain(known: ProbeTarget, options: ProbeOptions): Promise<Verdict> {
  const { verdict, question } = await discover(known, 'http', options);
  question.drop();
  return verdict;
}

async function discover(probedChannel: ProbeTarget, transport: Transport, options: ProbeOptions): Promise<Finding> {
  const { limits, clock } = options;
  let revision = newestModern(options) as Revision;
  for (let attempt = 1; ; attempt += 1) {
    const question = askDiscover(probedChannel, revision, options);
    const answer = await question.within(limits.probeMs, clock);
    const verdict = judge(answer, transport, options.revisions);
    if (verdict.kind !== 'retry') return { verdict, answer, question };
    if (attempt === ATTEMPTS) {
      const failure = new Failure('backend_invalid', { message: 'The backend refuses a revision that it declared' });
      return { verdict: { kind: 'none', failure }, answer, question };
    }
    revision = verdict.revision;
  }
}

function askDiscover({ channel, ids }: ProbeTarget, revision: Revision, { self, notes }: ProbeOptions): ProbeRequest {
  const id = ids.next();
  const params = concat(['{"_meta":', ownMeta(revision, self), '}']);
  const outgoing = {
    bytes: requestBytes(id, 'server/discover', params),
    id: keyOf(id),
    headers: mirroredHeaders('server/discover', undefined, revision),
  };
  const told = notes?.tracer?.opening('server/discover', id);
  return new ProbeRequest(channel, outgoing, (message) => answerKindly(channel, message), told);
}

async function initializeAfresh(
  way: TransportWay,
  probedChannel: ProbedChannel,
  options: ProbeOptions,
): Promise<Probed> {
  const probing = new ProbeConnection(probedChannel);
  let session: ProbedSession | undefined;
  try {
    const initialized = await initialize(probing, options, undefined);
    if ('failure' in initialized) {
      throw way.transport === 'sse' ? initialized.failure : understoodNothing(initialized.failure);
    }
    session = probing.sessionFor(way);
    return { discovery: initialized.discovery, way, probedChannel: undefined, session };
  } finally {
    if (session === undefined) void probing.leave();
  }
}

function understoodNothing(cause: Failure): Failure {
  if (cause.reason !== 'backend_invalid') return cause;
  const message = `The backend understood neither server/discover nor initialize (${cause.message})`;
  return new Failure('backend_invalid', { message, cause });
}
