/**
 * Writes a client's request in the form of the backend's era, under an id of ours. The bytes of the client's `params`
 * stay. Only the progress token and the core `_meta` keys change, because each hop writes its own.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
 */
import { randomBytes } from 'node:crypto';
import type { CallRequest } from '../exchange/call.ts';
import type { SentTrace } from '../exchange/trace.ts';
import { forUpstream } from '../wire/capabilities.ts';
import { concat, forwarded, notificationBytes, type Raw, rewrite, withBody, withId } from '../wire/compose.ts';
import type { Notification, ObjectSpan, Request } from '../wire/message.ts';
import { type Revision, revisions } from '../wire/revisions.ts';
import { headersWithTrace, paramsWithTrace, traceKeys, traceMembers } from '../wire/trace-fields.ts';
import { member, slice } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';

/** Base64url: 6 bits a character, 96 bits in all. Some servers accept only letters, digits, `-` and `_`. */
const LENGTH = 16;
/** Ids drawn at once: asking the system for random bytes is the expensive part. */
const DRAWN = 64;

let drawn = '';
let used = 0;

/**
 * Ids of our requests to backends, which also serve as our progress tokens. Each is random: several callers, and
 * several gateway processes, can share one process or session of a backend, and a caller that could guess the id of
 * another caller's request could make the backend answer it. Ids are never reused, so a late answer matches no request.
 * They are strings, because some servers have 32-bit integers.
 */
export class Ids {
  /** The JSON token of a new id. */
  next(): string {
    if (used === drawn.length) {
      drawn = randomBytes((DRAWN * LENGTH * 6) / 8).toString('base64url');
      used = 0;
    }
    const id = drawn.slice(used, used + LENGTH);
    used += LENGTH;
    return `"${id}"`;
  }
}

/** `Id.key` of one of our ids. */
export function keyOf(id: string): string {
  return `s${id.slice(1, -1)}`;
}

/** Keys that are valid on one hop only. */
const ofOneHop: ReadonlySet<string> = new Set(['progressToken', ...Object.values(metaKeys)]);

/** With a trace of ours, the client's trace context is valid on one hop only, too. */
const ofOneHopOrTrace: ReadonlySet<string> = new Set([...ofOneHop, ...traceKeys]);

const noCapabilities = {};

/** `_meta` of the gateway's own requests. It declares no capabilities, so no backend sends it server requests. */
export function ownMeta(revision: Revision, info: Raw): Buffer {
  const parts: Raw[] = ['{'];
  addModern(parts, revision, info, noCapabilities, undefined, undefined);
  return concat(parts);
}

/** The headers name the same place in the trace as `_meta`. */
export function tracedHeaders(
  headers: Readonly<Record<string, string>>,
  trace: SentTrace | undefined,
): Readonly<Record<string, string>> {
  return trace?.fields === undefined ? headers : headersWithTrace(headers, trace.fields);
}

/** `id` is both our request id and our progress token. */
export function modernRequest(request: CallRequest, id: string, revision: Revision, trace?: SentTrace): Buffer {
  const { message, client, round } = request;
  const meta: Raw[] = ['{'];
  addKept(meta, message, trace);
  if (trace?.fields !== undefined) meta.push(traceMembers(trace.fields), ',');
  const token = request.progress ? id : undefined;
  addModern(meta, revision, client.info, client.capabilities.raw, request.logLevel, token);
  if (round === undefined && member(message.params, 'task') === undefined) return withMeta(message, id, meta);
  const set: Record<string, Raw> = { _meta: concat(meta) };
  if (round?.inputResponses !== undefined) set.inputResponses = round.inputResponses;
  if (round?.requestState !== undefined) set.requestState = round.requestState;
  return withMembers(message, id, set, round === undefined ? isTask : ofRoundsOrTask);
}

/** Only modern requests have rounds. A legacy backend gets the client's answers as responses, never as parameters. */
export function legacyRequest(request: CallRequest, id: string, trace?: SentTrace): Buffer {
  const { message, task } = request;
  const { params } = message;
  const meta = legacyMeta(request, id, trace);
  const foreign = member(params, 'inputResponses') ?? member(params, 'requestState') ?? member(params, 'task');
  if (foreign !== undefined || task !== undefined) {
    const set = { ...(meta !== undefined && { _meta: meta }), ...(task !== undefined && { task }) };
    return withMembers(message, id, set, ofRoundsOrTask);
  }
  return meta === undefined ? withId(message, id) : withMeta(message, id, [meta]);
}

/**
 * Where tasks are not carried from client to backend, a request for one becomes an ordinary request:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-support-and-handling
 */
function isTask(key: string): boolean {
  return key === 'task';
}

function ofRoundsOrTask(key: string): boolean {
  return key === 'inputResponses' || key === 'requestState' || isTask(key);
}

/** Undefined where the message can keep its `_meta`. */
function legacyMeta({ message, progress }: CallRequest, id: string, trace: SentTrace | undefined): Raw | undefined {
  const { bytes, meta } = message;
  const own = [
    ...(progress ? [`"progressToken":${id}`] : []),
    ...(trace?.fields === undefined ? [] : [traceMembers(trace.fields)]),
  ];
  if (own.length > 0) {
    const parts: Raw[] = ['{'];
    addKept(parts, message, trace);
    parts.push(`${own.join(',')}}`);
    return concat(parts);
  }
  const dropped = droppedKeys(trace);
  const foreign = meta?.members.some(({ key }) => dropped.has(key)) === true;
  return foreign && meta !== undefined ? rewrite(bytes, meta, { drop: (key) => dropped.has(key) }) : undefined;
}

function droppedKeys(trace: SentTrace | undefined): ReadonlySet<string> {
  return trace === undefined ? ofOneHop : ofOneHopOrTrace;
}

/** The client's own members (vendor keys, trace context without a trace of ours), in order, a comma behind each. */
function addKept(parts: Raw[], { bytes, meta }: Request, trace: SentTrace | undefined): void {
  if (meta === undefined) return;
  const dropped = droppedKeys(trace);
  for (const { key, keyStart, end } of meta.members) {
    if (!dropped.has(key)) parts.push(bytes.subarray(keyStart, end), ',');
  }
}

/** The protocol's own members, and the closing brace. */
function addModern(
  parts: Raw[],
  revision: Revision,
  info: Raw | undefined,
  raw: Readonly<Record<string, unknown>>,
  logLevel: string | undefined,
  token: string | undefined,
): void {
  parts.push(versionMembers.get(revision) ?? '');
  if (info !== undefined) parts.push(infoKey, info);
  parts.push(capabilitiesKey, declaredFor.get(raw) ?? declare(raw, revision));
  if (logLevel !== undefined) parts.push(`,"${metaKeys.logLevel}":${JSON.stringify(logLevel)}`);
  if (token !== undefined) parts.push(`,"progressToken":${token}`);
  parts.push('}');
}

// Copying bytes is faster than writing text, and these go with every call.
const infoKey = Buffer.from(`,"${metaKeys.clientInfo}":`);
const versionMembers = new Map<Revision, Uint8Array>(
  revisions.map((revision) => [revision, Buffer.from(`"${metaKeys.protocolVersion}":"${revision}"`)]),
);
const capabilitiesKey = Buffer.from(`,"${metaKeys.clientCapabilities}":`);
/** By declared capabilities: a client declares them once and calls often. */
const declaredFor = new WeakMap<object, Uint8Array>();

/** The capabilities that we declare to a modern backend on a client's behalf, as JSON. */
function declare(raw: Readonly<Record<string, unknown>>, revision: Revision): Uint8Array {
  const text = Buffer.from(JSON.stringify(forUpstream(raw, revision)));
  declaredFor.set(raw, text);
  return text;
}

/** Replaces id and `_meta` in one copy, since every call to a modern backend passes here. Takes over `meta`. */
function withMeta(message: Request, id: string, meta: Raw[]): Buffer {
  const { bytes, params } = message;
  if (params === undefined) return withBody(message, id, ['{"_meta":', ...meta, '}']);
  // A `_meta` that is no object means nothing, and would hide ours.
  const old = message.meta ?? member(params, '_meta');
  const last = params.members.at(-1);
  if (old === undefined) meta.unshift(last === undefined ? '"_meta":' : ',"_meta":');
  const at = old?.start ?? last?.end ?? params.start + 1;
  meta.unshift(bytes.subarray(params.start, at));
  meta.push(bytes.subarray(old?.end ?? at, params.end));
  return withBody(message, id, meta);
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

/** A client's notification, with a trace context of ours where it belongs to a trace. */
export function tracedNotification(notification: Notification, trace: SentTrace | undefined): Buffer {
  if (trace === undefined) return forwarded(notification);
  const { bytes, params, method } = notification;
  return notificationBytes(method, paramsWithTrace(params && slice(bytes, params), trace.fields));
}

/** `notifications/cancelled` for a request of ours, under the id that the backend knows. */
export function cancelledBytes(id: string, reason: string | undefined): Buffer {
  const why = reason === undefined ? '' : `,"reason":${JSON.stringify(reason)}`;
  return notificationBytes('notifications/cancelled', `{"requestId":${id}${why}}`);
}
