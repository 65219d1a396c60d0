/** `initialize`: opens a legacy session, for a client or for a probe. */
import type { Limits } from '../config/limits.ts';
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { BackendTracer } from '../exchange/trace.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import { forUpstream } from '../wire/capabilities.ts';
import { concat, type Raw, requestBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { atLeast, era, newest, type Revision, revisions } from '../wire/revisions.ts';
import { member, stringAt } from '../wire/values.ts';
import { VIA, writeVia } from '../wire/via.ts';
import { type FailureKind, failureOfKind } from './as-failure.ts';
import type { BackendOptions } from './backend-options.ts';
import type { Channel } from './channel.ts';
import { type LastInitialize, readInitialize } from './discovery.ts';
import { type Ids, keyOf } from './envelope.ts';
import type { HealthReporter } from './health.ts';
import { type ProbeAnswer, ProbeRequest } from './question.ts';

export type HandshakeHeaders = Readonly<Record<string, string>>;

/** What we propose. */
export interface Introduction {
  readonly revision: Revision;
  readonly info: Raw;
  readonly capabilities: Raw;
  /** This era defines no headers for `initialize`. */
  readonly headers?: HandshakeHeaders;
}

/** What both sides agreed on. */
export interface Agreement {
  readonly discovery: Discovery;
  readonly sessionId: string | undefined;
  /** Sent with everything that follows, where the channel has headers. */
  readonly headers: HandshakeHeaders;
}

/** Throws where the profile allows no legacy revision. */
export function newestLegacy(spoken: readonly Revision[] = revisions): Revision {
  const revision = newest(spoken, 'legacy');
  if (revision !== undefined) return revision;
  throw new Failure('backend_invalid', { message: 'The backend supports no revision that its profile allows' });
}

/**
 * The client's revision where it is a legacy one that the profile allows, or else the nearest older one, so that the
 * backend behaves as the client expects.
 */
export function revisionFor(client: Revision, spoken: readonly Revision[] = revisions): Revision {
  const older = spoken.filter((revision) => era(client) === 'modern' || revision <= client);
  return newest(older, 'legacy') ?? newestLegacy(spoken);
}

export function askInitialize(
  channel: Channel,
  ids: Ids,
  introduction: Introduction,
  heard: (message: Notification | Request) => void,
  tracer: BackendTracer | undefined,
): ProbeRequest {
  const { revision, info, capabilities, headers = {} } = introduction;
  const id = ids.next();
  const params = concat([
    `{"protocolVersion":"${revision}","capabilities":`,
    capabilities,
    ',"clientInfo":',
    info,
    '}',
  ]);
  const outgoing = { bytes: requestBytes(id, 'initialize', params), id: keyOf(id), headers };
  return new ProbeRequest(channel, outgoing, heard, tracer?.opening('initialize', id));
}

/** What a session for a client needs. */
export interface AgreementOptions extends Pick<BackendOptions, 'clock' | 'self' | 'revisions' | 'notes'> {
  /** `firstByteMs` limits `initialize`: the process may have to be unpacked first. */
  readonly limits: Pick<Limits, 'firstByteMs'>;
  readonly health: HealthReporter;
  /** What the backend answered last. */
  readonly last?: LastInitialize;
}

/** Opens a session on behalf of a client. Rejects with a Failure. */
export async function agreeFor(
  client: ClientFacts,
  channel: Channel,
  ids: Ids,
  { clock, limits, self, revisions: spoken, health, last, notes }: AgreementOptions,
  heard: (message: Notification | Request) => void,
): Promise<Agreement> {
  const revision = revisionFor(client.revision, spoken);
  const introduction = {
    revision,
    info: client.info ?? self,
    capabilities: JSON.stringify(forUpstream(client.capabilities.raw, revision)),
    ...(client.via && { headers: { [VIA]: writeVia(client.via) } }),
  };
  const question = askInitialize(channel, ids, introduction, heard, notes.tracer);
  const began = clock.now();
  const answer = await question.within(limits.firstByteMs, clock);
  question.drop();
  reportHealth(answer, began, health);
  return readAgreement(answer, spoken, last);
}

/** Reports whether the backend could be reached. An HTTP refusal reports nothing: the cause may be on our side. */
function reportHealth(answer: ProbeAnswer, began: number, health: HealthReporter): void {
  if (answer.kind === 'answered') health.reached();
  else if (answer.kind === 'silent') health.unreached(failureOfKind('backend_timeout', unanswered), began);
  else if (answer.http === undefined) health.unreached(answer.failure, began);
}

/** Throws a Failure where no session was established. */
export function readAgreement(answer: ProbeAnswer, spoken?: readonly Revision[], last?: LastInitialize): Agreement {
  if (answer.kind === 'silent') throw failureOfKind('backend_timeout', unanswered);
  if (answer.kind === 'failed') throw answer.failure;
  const { message, http } = answer;
  if (message.kind === 'error') throw refused(message.bytes, member(message.error, 'message'));
  const discovery = last === undefined ? readInitialize(message, spoken) : last.read(message, spoken);
  const sessionId = checkedSession(http?.sessionId);
  return { discovery, sessionId, headers: headersOf(discovery.revision, sessionId) };
}

const unanswered: FailureKind = {
  why: 'it did not answer initialize',
  cure:
    'check that it supports MCP over stdio: some servers need an option such as `--stdio`; ' +
    'for a slow server, raise `limits.initializeMs`',
};

function refused(bytes: Uint8Array, text: { start: number; end: number } | undefined): Failure {
  const cause = text && stringAt(bytes, text);
  return new Failure('backend_invalid', { message: 'The backend refused initialize', cause });
}

/**
 * Only visible ASCII (2025-11-25, basic/transports#session-management). Anything else cannot be sent back in a header.
 */
function checkedSession(sessionId: string | undefined): string | undefined {
  if (sessionId === undefined || /^[\x21-\x7e]+$/.test(sessionId)) return sessionId;
  throw new Failure('backend_invalid', { message: 'The backend sent a malformed session id' });
}

/** The version header is newer than sessions: 2025-06-18, basic/transports#protocol-version-header. */
function headersOf(revision: Revision, sessionId: string | undefined): HandshakeHeaders {
  const version = atLeast(revision, '2025-06-18') ? revision : undefined;
  // The usual case is one literal: every object that is put together from others would have a hidden class of its own.
  if (sessionId !== undefined && version !== undefined)
    return { 'mcp-session-id': sessionId, 'mcp-protocol-version': version };
  if (sessionId !== undefined) return { 'mcp-session-id': sessionId };
  return version === undefined ? {} : { 'mcp-protocol-version': version };
}
