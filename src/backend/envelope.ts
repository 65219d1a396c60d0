/**
 * Writes the envelope of the backend's era around what a client wants. The client's bytes stay; what changes is the id, the
 * progress token and the core `_meta` keys, which each hop writes itself.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
 */
import type { CallRequest } from '../exchange/call.ts';
import { forUpstream } from '../wire/capabilities.ts';
import { concat, type Edit, type Raw, rewrite, spliceMessage } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import { member } from '../wire/values.ts';

const CORE = 'io.modelcontextprotocol/';

export const metaKeys = {
  protocolVersion: `${CORE}protocolVersion`,
  clientInfo: `${CORE}clientInfo`,
  clientCapabilities: `${CORE}clientCapabilities`,
  logLevel: `${CORE}logLevel`,
  subscriptionId: `${CORE}subscriptionId`,
  serverInfo: `${CORE}serverInfo`,
} as const;

/** Keys whose values are true on one hop only. */
const ofOneHop: ReadonlySet<string> = new Set(['progressToken', ...Object.values(metaKeys)]);

/** `_meta` of a request that the gateway sends on its own account: it declares no capabilities, so nobody asks it anything. */
export function ownMeta(revision: Revision, info: Raw): Buffer {
  return concat(['{', ...modernMembers(revision, info, '{}', undefined, undefined), '}']);
}

/** `id` is our request id and our progress token: an integer, so that no backend meets a type it does not expect. */
export function modernRequest(request: CallRequest, id: string, revision: Revision): Buffer {
  const { message, round } = request;
  const meta = modernMeta(request, id, revision);
  if (message.params === undefined && round === undefined) {
    const end = message.top.at(-1)?.end ?? 0;
    return spliceMessage(message, [idEdit(message, id), { span: { start: end, end }, with: paramsOf(meta) }]);
  }
  if (round === undefined) return spliceMessage(message, [idEdit(message, id), metaEdit(message, meta)]);
  const set: Record<string, Raw> = { _meta: meta };
  if (round.inputResponses !== undefined) set.inputResponses = round.inputResponses;
  if (round.requestState !== undefined) set.requestState = round.requestState;
  return withParams(message, id, set);
}

/** Rounds are a modern thing: towards a legacy backend the answers travel as responses, and never as parameters. */
export function legacyRequest(request: CallRequest, id: string): Buffer {
  const { message } = request;
  const meta = legacyMeta(request, id);
  const rounds = message.params?.members.some(({ key }) => ofRounds(key)) === true;
  if (rounds) return withParams(message, id, meta === undefined ? {} : { _meta: meta });
  if (meta === undefined) return spliceMessage(message, [idEdit(message, id)]);
  return spliceMessage(message, [idEdit(message, id), metaEdit(message, meta)]);
}

function ofRounds(key: string): boolean {
  return key === 'inputResponses' || key === 'requestState';
}

function withParams(message: Request, id: string, set: Readonly<Record<string, Raw>>): Buffer {
  const params = message.params;
  if (params === undefined) {
    const end = message.top.at(-1)?.end ?? 0;
    const all = rewrite(new Uint8Array(0), { start: 0, end: 0, members: [] }, { set });
    return spliceMessage(message, [
      idEdit(message, id),
      { span: { start: end, end }, with: concat([',"params":', all]) },
    ]);
  }
  return spliceMessage(message, [
    idEdit(message, id),
    { span: params, with: rewrite(message.bytes, params, { drop: ofRounds, set }) },
  ]);
}

function modernMeta({ message, client, logLevel, progress }: CallRequest, id: string, revision: Revision): Raw {
  const ours = modernMembers(
    revision,
    client.info,
    capabilitiesText(client.capabilities.raw),
    logLevel,
    progress ? id : undefined,
  );
  return concat(['{', ...kept(message), ...ours, '}']);
}

function modernMembers(
  revision: Revision,
  info: Raw | undefined,
  capabilities: string,
  logLevel: string | undefined,
  token: string | undefined,
): Raw[] {
  let tail = `,"${metaKeys.clientCapabilities}":${capabilities}`;
  if (logLevel !== undefined) tail += `,"${metaKeys.logLevel}":${JSON.stringify(logLevel)}`;
  if (token !== undefined) tail += `,"progressToken":${token}`;
  const head = `"${metaKeys.protocolVersion}":"${revision}"`;
  return info === undefined ? [head + tail] : [`${head},"${metaKeys.clientInfo}":`, info, tail];
}

/** Undefined where the message can keep what it has. */
function legacyMeta({ message, progress }: CallRequest, id: string): Raw | undefined {
  const foreign = message.meta?.members.some(({ key }) => ofOneHop.has(key)) === true;
  if (!progress && !foreign) return undefined;
  if (progress) return concat(['{', ...kept(message), `"progressToken":${id}}`]);
  return message.meta && rewrite(message.bytes, message.meta, { drop: (key) => ofOneHop.has(key) });
}

/** The client's own members (trace context, vendor keys), in order, each followed by a comma. */
function kept({ bytes, meta }: Request): Raw[] {
  const parts: Raw[] = [];
  if (meta === undefined) return parts;
  for (const { key, keyStart, end } of meta.members) {
    if (!ofOneHop.has(key)) parts.push(bytes.subarray(keyStart, end), ',');
  }
  return parts;
}

function idEdit(message: Request, id: string): Edit {
  const span = message.top.find(({ key }) => key === 'id');
  if (span === undefined) throw new TypeError('a request has an id');
  return { span, with: id };
}

/** Only for messages with params. */
function metaEdit({ params, meta }: Request, value: Raw): Edit {
  if (meta !== undefined) return { span: meta, with: value };
  if (params === undefined) throw new TypeError('there are no params to hold _meta');
  // A `_meta` that is no object says nothing, and would hide ours.
  const odd = member(params, '_meta');
  if (odd !== undefined) return { span: odd, with: value };
  const last = params.members.at(-1);
  const at = last === undefined ? params.start + 1 : last.end;
  return { span: { start: at, end: at }, with: concat([last === undefined ? '"_meta":' : ',"_meta":', value]) };
}

function paramsOf(meta: Raw): Buffer {
  return concat([',"params":{"_meta":', meta, '}']);
}

/** A session declares its capabilities once and calls often. */
const texts = new WeakMap<object, string>();

export function capabilitiesText(raw: Readonly<Record<string, unknown>>): string {
  let text = texts.get(raw);
  if (text === undefined) {
    text = JSON.stringify(forUpstream(raw));
    texts.set(raw, text);
  }
  return text;
}
