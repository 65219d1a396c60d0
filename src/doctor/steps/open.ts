/** The probes: `server/discover` of the modern era, `initialize` of the legacy one, and HTTP+SSE. */
import type { Era } from '../../wire/revisions.ts';
import { metaKeys } from '../../wire/vocabulary.ts';
import type { FindingId } from '../findings.ts';
import type { Peer } from '../peer/peer.ts';
import { type JsonObject, objectIn, type PeerFault, type PeerReply, summary } from '../peer/reply.ts';
import { SsePeer } from '../peer/sse.ts';
import { type LegacyOpening, type Opening, openLegacy, openModern } from '../talk.ts';
import { type DoctorStep, failed, ok, type StepOutcome, skipped, type Visit } from '../visit.ts';

/** Faults that are the server's own, in whatever era. Any other answer may come from a server of the other era. */
const ownFaults: ReadonlySet<FindingId> = new Set<FindingId>([
  ...(['unreachable', 'timed_out', 'cut', 'redirected', 'process_ended', 'server_error', 'other_id'] as const),
  ...(['sse_malformed', 'discover_malformed', 'initialize_malformed', 'version_unknown', 'session_malformed'] as const),
]);

export const discoverStep: DoctorStep = {
  name: 'discover',
  run: (visit) => probe(visit, 'modern', async (peer) => judgeDiscover(await openModern(peer))),
};

export const initializeStep: DoctorStep = {
  name: 'initialize',
  run: (visit) => probe(visit, 'legacy', async (peer) => judgeInitialize(await openLegacy(peer))),
};

/** With a token, the probes that were refused are made again. */
export const openAgainStep: DoctorStep = {
  name: 'open again',
  async run(visit) {
    if (visit.token === undefined) return skipped('there is no token');
    visit.refusal = undefined;
    const outcomes = [await discoverStep.run(visit), await initializeStep.run(visit)];
    const refused = visit.refusal as PeerReply | undefined;
    if (refused !== undefined)
      return failed({ finding: 'credentials_refused', detail: `the new token: ${summary(refused)}` }, refused.bytes);
    return outcomes.find(({ state }) => state === 'failed') ?? outcomes.find(({ state }) => state === 'ok') ?? useless;
  },
};

const useless = failed({ finding: 'no_era', detail: 'with the new token' });

/** An opening, and what is to be said about it where there is a conversation. */
interface Judged {
  readonly opening: Opening;
  readonly outcome: StepOutcome;
}

async function probe(visit: Visit, era: Era, run: (peer: Peer) => Promise<Judged>): Promise<StepOutcome> {
  const { eras } = visit.options;
  if (!eras.includes(era)) return skipped(`not asked for (--era ${eras.join()})`);
  if (visit.refusal !== undefined) return skipped('the server demands credentials');
  const peer = await visit.connect();
  if ('finding' in peer) return failed(peer);
  const { opening, outcome } = await run(peer);
  visit.openings.set(era, opening);
  if (opening.talk === undefined) return unopened(visit, era, opening);
  visit.talks.push(opening.talk);
  return outcome;
}

function unopened(visit: Visit, era: Era, { reply, fault }: Opening): StepOutcome {
  const { eras, target } = visit.options;
  const status = reply.http?.status;
  if (status === 401 || status === 403) {
    visit.refusal = reply;
    return skipped(`the server demands credentials (HTTP ${status})`);
  }
  // On a pipe, silence is how some legacy servers answer what they do not know.
  const isLegacySilence = era === 'modern' && target.kind === 'stdio' && fault?.finding === 'timed_out';
  if (fault !== undefined && ownFaults.has(fault.finding) && !isLegacySilence) return failed(fault, reply.bytes);
  if (!eras.includes('legacy')) return failed({ finding: 'era_not_spoken', detail: summary(reply) }, reply.bytes);
  // Over HTTP, HTTP+SSE is tried after this, and has the verdict.
  if (era === 'legacy' && target.kind === 'stdio' && visit.talks.length === 0)
    return failed({ finding: 'no_era', detail: `initialize: ${summary(reply)}` }, reply.bytes);
  const supported = objectIn(reply.answer?.error?.data)?.supported;
  const names = Array.isArray(supported) ? `; it names ${supported.join(', ')}` : '';
  return skipped(`the server does not speak this era (${summary(reply)}${names})`);
}

function judgeDiscover(opening: Opening): Judged {
  return { opening, outcome: discovered(opening) };
}

function discovered({ reply, talk }: Opening): StepOutcome {
  const result = talk?.opening ?? {};
  if (result.resultType === undefined)
    return failed({ finding: 'result_type_missing', detail: 'of `server/discover`' }, reply.bytes);
  if (typeof result.ttlMs !== 'number' || result.cacheScope === undefined)
    return failed({ finding: 'discover_malformed', detail: '`ttlMs` or `cacheScope` is missing' }, reply.bytes);
  const versions = [result.supportedVersions].flat().join(', ');
  const info = objectIn(objectIn(result._meta)?.[metaKeys.serverInfo]);
  return ok(`${nameOf(info)}, versions ${versions}${offered(talk?.capabilities)}`);
}

function judgeInitialize(opening: LegacyOpening): Judged {
  return { opening, outcome: agreed(opening) };
}

function agreed({ reply, talk, initialized }: LegacyOpening): StepOutcome {
  const info = objectIn(talk?.opening.serverInfo);
  const fault = initializedFault(initialized, talk?.session);
  if (fault !== undefined && initialized !== undefined) return failed(fault, initialized.bytes);
  if (typeof info?.name !== 'string' || typeof info.version !== 'string') {
    const detail = '`serverInfo` has no name or no version';
    return failed({ finding: 'initialize_malformed', detail }, reply.bytes);
  }
  const session = talk?.session === undefined ? '' : ', with a session';
  return ok(`${nameOf(info)}, version ${talk?.revision}${session}${offered(talk?.capabilities)}`);
}

/** What is wrong with the answer to `notifications/initialized`. */
function initializedFault(reply: PeerReply | undefined, session: string | undefined): PeerFault | undefined {
  if (reply?.fault !== undefined) return reply.fault;
  const http = reply?.http;
  if (http === undefined || http.status === 202) {
    return http !== undefined && http.body !== ''
      ? { finding: 'notification_answered', detail: 'the 202 for notifications/initialized has a body' }
      : undefined;
  }
  const detail = `notifications/initialized is answered with HTTP ${http.status}`;
  const isLost = session !== undefined && (http.status === 404 || http.status === 400);
  return { finding: isLost ? 'session_lost' : 'notification_answered', detail };
}

function nameOf(info: JsonObject | undefined): string {
  return info === undefined ? 'a server without a name' : `${String(info.name)} ${String(info.version)}`;
}

function offered(capabilities: JsonObject = {}): string {
  const names = Object.keys(capabilities);
  return names.length === 0 ? ', no capabilities' : `, offers ${names.join(', ')}`;
}

export const sseStep: DoctorStep = {
  name: 'http+sse',
  async run(visit) {
    const { target, eras, timeoutMs } = visit.options;
    const before = visit.openings.get('legacy');
    if (target.kind === 'stdio' || visit.talks.length > 0) return skipped('the server speaks a newer transport');
    if (visit.refusal !== undefined) return skipped('the server demands credentials');
    if (!eras.includes('legacy')) return skipped('not asked for');
    if (before?.fault !== undefined && ownFaults.has(before.fault.finding)) return skipped('`initialize` failed');
    const { secrets } = visit;
    const peer = await SsePeer.open({ url: target.url, headers: target.headers, timeoutMs, secrets });
    if ('finding' in peer) {
      const posts = before === undefined ? '' : `POST: ${summary(before.reply)}; `;
      const finding = peer.detail.startsWith('GET is answered') ? 'no_era' : peer.finding;
      return failed({ finding, detail: `${posts}${peer.detail}` }, before?.reply.bytes);
    }
    visit.adopt(peer);
    const opening = await openLegacy(peer);
    if (opening.talk === undefined) {
      const fault = opening.fault ?? { finding: 'no_era', detail: summary(opening.reply) };
      return failed(fault, opening.reply.bytes);
    }
    visit.talks.push(opening.talk);
    return ok(`version ${opening.talk.revision} over the deprecated HTTP+SSE${offered(opening.talk.capabilities)}`);
  },
};
