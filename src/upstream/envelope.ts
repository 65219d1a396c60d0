/**
 * Writes a client's request in the form of the backend's era. The bytes of the client's `params` stay. Only the
 * progress token and the core `_meta` keys change, because each hop writes its own.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
 */
import type { CallRequest } from '../exchange/call.ts';
import { forUpstream } from '../wire/capabilities.ts';
import { concat, type Raw, rewrite, withBody, withId } from '../wire/compose.ts';
import type { ObjectSpan, Request, Span } from '../wire/message.ts';
import { metaKeys } from '../wire/meta.ts';
import type { Revision } from '../wire/revisions.ts';
import { member } from '../wire/values.ts';

/** Keys that are valid on one hop only. */
const ofOneHop: ReadonlySet<string> = new Set(['progressToken', ...Object.values(metaKeys)]);

const noCapabilities = {};

/** `_meta` of the gateway's own requests. It declares no capabilities, so no backend sends it server requests. */
export function ownMeta(revision: Revision, info: Raw): Buffer {
  const parts: Raw[] = ['{'];
  addModern(parts, revision, info, capabilitiesMember(noCapabilities), undefined, undefined);
  parts.push('}');
  return concat(parts);
}

/** `id` is both our request id and our progress token. */
export function modernRequest(request: CallRequest, id: string, revision: Revision): Buffer {
  const { message, client, round } = request;
  const meta: Raw[] = ['{'];
  addKept(meta, message);
  const token = request.progress ? id : undefined;
  addModern(meta, revision, client.info, capabilitiesMember(client.capabilities.raw), request.logLevel, token);
  meta.push('}');
  if (round === undefined && member(message.params, 'task') === undefined) return withMeta(message, id, meta);
  const set: Record<string, Raw> = { _meta: concat(meta) };
  if (round?.inputResponses !== undefined) set.inputResponses = round.inputResponses;
  if (round?.requestState !== undefined) set.requestState = round.requestState;
  return withMembers(message, id, set, round === undefined ? isTask : ofRoundsOrTask);
}

/** Only modern requests have rounds. A legacy backend gets the client's answers as responses, never as parameters. */
export function legacyRequest(request: CallRequest, id: string): Buffer {
  const { message } = request;
  const meta = legacyMeta(request, id);
  const stripped = message.params?.members.some(({ key }) => ofRoundsOrTask(key)) === true;
  if (stripped) return withMembers(message, id, meta === undefined ? {} : { _meta: meta }, ofRoundsOrTask);
  return meta === undefined ? withId(message, id) : withMeta(message, id, [meta]);
}

/**
 * Tasks are not forwarded, and no backend is told that a client supports them. A request for a task becomes an ordinary
 * one:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-support-and-handling
 */
function isTask(key: string): boolean {
  return key === 'task';
}

function ofRoundsOrTask(key: string): boolean {
  return key === 'inputResponses' || key === 'requestState' || isTask(key);
}

/** Undefined where the message can keep its `_meta`. */
function legacyMeta({ message, progress }: CallRequest, id: string): Raw | undefined {
  const { bytes, meta } = message;
  if (progress) {
    const parts: Raw[] = ['{'];
    addKept(parts, message);
    parts.push(`"progressToken":${id}}`);
    return concat(parts);
  }
  const foreign = meta?.members.some(({ key }) => ofOneHop.has(key)) === true;
  return foreign && meta !== undefined ? rewrite(bytes, meta, { drop: (key) => ofOneHop.has(key) }) : undefined;
}

/** The client's own members (trace context, vendor keys), in order, each followed by a comma. */
function addKept(parts: Raw[], { bytes, meta }: Request): void {
  if (meta === undefined) return;
  for (const { key, keyStart, end } of meta.members) {
    if (!ofOneHop.has(key)) parts.push(bytes.subarray(keyStart, end), ',');
  }
}

function addModern(
  parts: Raw[],
  revision: Revision,
  info: Raw | undefined,
  capabilities: Uint8Array,
  logLevel: string | undefined,
  token: string | undefined,
): void {
  parts.push(versionMember(revision));
  if (info !== undefined) parts.push(infoKey, info);
  parts.push(capabilities);
  if (logLevel !== undefined) parts.push(`,"${metaKeys.logLevel}":${JSON.stringify(logLevel)}`);
  if (token !== undefined) parts.push(`,"progressToken":${token}`);
}

// Copying bytes is faster than writing text, and these go with every call.
const infoKey = Buffer.from(`,"${metaKeys.clientInfo}":`);
const versionMembers = new Map<Revision, Uint8Array>();
const capabilityMembers = new WeakMap<object, Uint8Array>();

function versionMember(revision: Revision): Uint8Array {
  let bytes = versionMembers.get(revision);
  if (bytes === undefined) {
    bytes = Buffer.from(`"${metaKeys.protocolVersion}":"${revision}"`);
    versionMembers.set(revision, bytes);
  }
  return bytes;
}

/** Cached, because a session declares its capabilities once and calls often. */
function capabilitiesMember(raw: Readonly<Record<string, unknown>>): Uint8Array {
  let bytes = capabilityMembers.get(raw);
  if (bytes === undefined) {
    bytes = Buffer.from(`,"${metaKeys.clientCapabilities}":${capabilitiesText(raw)}`);
    capabilityMembers.set(raw, bytes);
  }
  return bytes;
}

/** The capabilities that we declare on a client's behalf. */
export function capabilitiesText(raw: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(forUpstream(raw));
}

/** Replaces id and `_meta` in one copy, since every call to a modern backend passes here. */
function withMeta(message: Request, id: string, meta: readonly Raw[]): Buffer {
  const { bytes, params } = message;
  if (params === undefined) return withBody(message, id, ['{"_meta":', ...meta, '}']);
  const { start, end, before } = metaPlace(params, message.meta);
  const head = bytes.subarray(params.start, start);
  const tail = bytes.subarray(end, params.end);
  return withBody(message, id, before === '' ? [head, ...meta, tail] : [head, before, ...meta, tail]);
}

interface MetaPlace extends Span {
  /** Text to insert before a new `_meta`. */
  readonly before: string;
}

function metaPlace(params: ObjectSpan, meta: ObjectSpan | undefined): MetaPlace {
  if (meta !== undefined) return { start: meta.start, end: meta.end, before: '' };
  // A `_meta` that is no object means nothing, and would hide ours.
  const odd = member(params, '_meta');
  if (odd !== undefined) return { start: odd.start, end: odd.end, before: '' };
  const last = params.members.at(-1);
  const at = last === undefined ? params.start + 1 : last.end;
  return { start: at, end: at, before: last === undefined ? '"_meta":' : ',"_meta":' };
}

const noParams: ObjectSpan = { start: 0, end: 0, members: [] };

function withMembers(
  message: Request,
  id: string,
  set: Readonly<Record<string, Raw>>,
  drop: (key: string) => boolean,
): Buffer {
  const { bytes, params = noParams } = message;
  return withBody(message, id, [rewrite(bytes, params, { drop, set })]);
}
