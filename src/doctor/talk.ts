/** A conversation with a server in one era, over any transport: envelope, headers and session are its business. */
import { about } from '../wire/about.ts';
import { methodRow } from '../wire/methods.ts';
import { mirroredHeaders } from '../wire/mirror.ts';
import { atLeast, type Era, era as eraOf, isRevision, newest, type Revision, revisions } from '../wire/revisions.ts';
import { metaKeys } from '../wire/vocabulary.ts';
import type { HeaderChanges, Peer, RequestId, SendOptions } from './peer/peer.ts';
import { type JsonObject, objectIn, type PeerFault, type PeerReply } from './peer/reply.ts';

/** What a check alters about a message that is otherwise right. */
export interface Alteration {
  readonly id?: RequestId;
  /** Undefined removes a header. */
  readonly headers?: HeaderChanges;
  /** Undefined removes a member. */
  readonly meta?: JsonObject;
  readonly until?: SendOptions['until'];
}

export interface Opening<P extends Peer = Peer> {
  /** Undefined where the server does not speak the era, or where its answer cannot be used. */
  readonly talk: Talk<P> | undefined;
  /** The answer to `server/discover` or `initialize`. */
  readonly reply: PeerReply;
  readonly fault: PeerFault | undefined;
}

export interface LegacyOpening<P extends Peer = Peer> extends Opening<P> {
  /** The answer to `notifications/initialized`. */
  readonly initialized?: PeerReply;
}

const newestOf = (era: Era): Revision => newest(revisions, era) as Revision;
const clientInfo = { name: `${about.name}-doctor`, version: about.version };

export class Talk<P extends Peer = Peer> {
  readonly peer: P;
  readonly era: Era;
  readonly revision: Revision;
  /** The result of `server/discover` or `initialize`. */
  readonly opening: JsonObject;
  /** Legacy: what goes with everything after `initialize`. */
  readonly headers: Readonly<Record<string, string>>;
  #ids = 100;

  constructor(peer: P, revision: Revision, opening: JsonObject, headers: Readonly<Record<string, string>>) {
    this.peer = peer;
    this.revision = revision;
    this.era = eraOf(revision);
    this.opening = opening;
    this.headers = headers;
  }

  get capabilities(): JsonObject {
    return objectIn(this.opening.capabilities) ?? {};
  }

  get session(): string | undefined {
    return this.headers['mcp-session-id'];
  }

  /** A method that every server of the era answers, and that has no effect. */
  get harmless(): string {
    return this.era === 'modern' ? 'server/discover' : 'ping';
  }

  /** The text of a harmless request. */
  harmlessText(id: RequestId | null): string {
    return JSON.stringify({ jsonrpc: '2.0', id, method: this.harmless, params: this.#enveloped({}) });
  }

  nextId(): number {
    return ++this.#ids;
  }

  request(method: string, params: JsonObject = {}, alteration: Alteration = {}): Promise<PeerReply> {
    const { id = this.nextId(), until } = alteration;
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params: this.#enveloped(params, alteration.meta) });
    const headers = { ...this.#headersOf(method, params), ...alteration.headers };
    return this.peer.send(text, { id, headers, ...(until && { until }) });
  }

  notify(method: string, params: JsonObject = {}): Promise<PeerReply> {
    const headers = this.era === 'modern' ? mirroredHeaders(method, undefined, this.revision) : this.headers;
    return this.peer.send(JSON.stringify({ jsonrpc: '2.0', method, params }), { headers });
  }

  /** Any bytes at all, with the headers of a request. `id` is the id whose answer is waited for. */
  raw(text: string, id: RequestId | undefined, method = 'ping', headers: HeaderChanges = {}): Promise<PeerReply> {
    return this.peer.send(text, { id, headers: { ...this.#headersOf(method, {}), ...headers } });
  }

  #enveloped(params: JsonObject, meta: JsonObject = {}): JsonObject {
    return this.era === 'modern' ? { ...params, _meta: { ...modernMeta(this.revision), ...meta } } : params;
  }

  #headersOf(method: string, params: JsonObject): Readonly<Record<string, string>> {
    return this.era === 'modern' ? modernHeaders(method, params, this.revision) : this.headers;
  }
}

function modernMeta(revision: string): JsonObject {
  return {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientInfo]: clientInfo,
    [metaKeys.clientCapabilities]: {},
  };
}

function modernHeaders(method: string, params: JsonObject, revision: string): Record<string, string> {
  const row = methodRow(method);
  const name = row?.mirrored === true && row.name !== undefined ? params[row.name] : undefined;
  return mirroredHeaders(method, typeof name === 'string' ? name : undefined, revision);
}

/** `server/discover`: the server is modern if its result names versions, or if its error is one of the modern ones. */
export async function openModern<P extends Peer>(peer: P): Promise<Opening<P>> {
  const revision = newestOf('modern');
  const method = 'server/discover';
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: modernMeta(revision) } });
  const reply = await peer.send(text, { id: 1, headers: modernHeaders(method, {}, revision) });
  const result = reply.answer?.result;
  if (result === undefined) return { talk: undefined, reply, fault: reply.fault };
  const versions = result.supportedVersions;
  if (!Array.isArray(versions) || objectIn(result.capabilities) === undefined) {
    const detail = '`supportedVersions` or `capabilities` is missing';
    return { talk: undefined, reply, fault: { finding: 'discover_malformed', detail } };
  }
  const talk = versions.includes(revision) ? new Talk(peer, revision, result, {}) : undefined;
  return { talk, reply, fault: undefined };
}

/** `initialize` and `notifications/initialized`. */
export async function openLegacy<P extends Peer>(
  peer: P,
  asked: string = newestOf('legacy'),
): Promise<LegacyOpening<P>> {
  const params = { protocolVersion: asked, capabilities: {}, clientInfo };
  const reply = await peer.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }), { id: 1 });
  const result = reply.answer?.result;
  if (result === undefined) return { talk: undefined, reply, fault: reply.fault };
  const refuse = (fault: PeerFault) => ({ talk: undefined, reply, fault });
  const version = result.protocolVersion;
  if (typeof version !== 'string' || objectIn(result.capabilities) === undefined)
    return refuse({ finding: 'initialize_malformed', detail: '`protocolVersion` or `capabilities` is missing' });
  if (!isRevision(version) || eraOf(version) !== 'legacy')
    return refuse({ finding: 'version_unknown', detail: `the server chose ${JSON.stringify(version).slice(0, 60)}` });
  const session = reply.http?.headers['mcp-session-id'];
  if (session !== undefined && !/^[\x21-\x7e]+$/.test(session))
    return refuse({ finding: 'session_malformed', detail: 'it has other characters than visible ASCII' });
  const headers = {
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
    ...(atLeast(version, '2025-06-18') ? { 'mcp-protocol-version': version } : {}),
  };
  const talk = new Talk(peer, version, result, headers);
  const initialized = await talk.notify('notifications/initialized');
  return { talk, reply, fault: undefined, initialized };
}
