/**
 * Translates an outcome to the other era. Only the protocol's own members change; members that belong to the tool, the
 * prompt or the resource stay as they are.
 */

import { isLikeQuestion } from '../wire/ambiguity.ts';
import { concat, type Raw, rewrite, spliceMessage } from '../wire/compose.ts';
import type { ErrorResponse, ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, slice, textAt, textMember, valueAt } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';

const OPEN_BRACE = 0x7b;
const { serverInfo } = metaKeys;
const cacheHints: ReadonlySet<string> = new Set(['ttlMs', 'cacheScope']);
const modernMembers: ReadonlySet<string> = new Set(['resultType', ...cacheHints]);

/** The result object without members that only the modern era has. */
export function legacyResult(message: ResultResponse): Raw {
  const meta = member(message.result, '_meta');
  const leftOfMeta = message.meta?.members.filter(({ key }) => key !== serverInfo);
  const dropMeta = meta !== undefined && leftOfMeta?.length === 0;
  const keepsMeta = meta !== undefined && message.meta !== undefined && !dropMeta;
  const structured = member(message.result, 'structuredContent');
  const bare = structured !== undefined && message.bytes[structured.start] !== OPEN_BRACE;
  return rewrite(message.bytes, message.result, {
    drop: (key) => modernMembers.has(key) || (key === '_meta' && dropMeta),
    set: {
      ...(keepsMeta && message.meta
        ? { _meta: rewrite(message.bytes, message.meta, { drop: (key) => key === serverInfo }) }
        : {}),
      // Legacy structured output is an object; degrade.ts wraps the schema in the same way.
      ...(bare ? { structuredContent: concat(['{"result":', slice(message.bytes, structured), '}']) } : {}),
    },
  });
}

/**
 * The result object with the members that the modern era needs. A legacy backend gives no cache hints, so nothing is
 * cached.
 */
export function modernResult(message: ResultResponse, row: MethodRow, info: unknown): Raw {
  const set: Record<string, Raw> = { resultType: '"complete"' };
  if (row.cacheable) Object.assign(set, { ttlMs: '0', cacheScope: '"private"' });
  if (info !== undefined) {
    const raw = JSON.stringify(info);
    set._meta =
      message.meta === undefined
        ? `{"${serverInfo}":${raw}}`
        : rewrite(message.bytes, message.meta, { set: { [serverInfo]: raw } });
  }
  // A legacy result has no `input_required` members: drop what a case-insensitive reader could take for one.
  return rewrite(message.bytes, message.result, { set, drop: isLikeQuestion });
}

/**
 * Completes a modern backend's result with the members that every result needs, and removes cache hints where nothing
 * may be cached.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cacheable-results
 */
export function completed(message: ResultResponse, row: MethodRow): ResultResponse {
  const { result } = message;
  const type = textMember(message.bytes, result, 'resultType');
  const isTyped = member(result, 'resultType') !== undefined;
  const isComplete = !isTyped || type === 'complete';
  const lacking: Record<string, Raw> = {};
  if (!isTyped) lacking.resultType = '"complete"';
  if (isComplete && row.cacheable === true) {
    if (member(result, 'ttlMs') === undefined) lacking.ttlMs = '0';
    if (member(result, 'cacheScope') === undefined) lacking.cacheScope = '"private"';
  }
  const excess = type === 'input_required' && result.members.some(({ key }) => cacheHints.has(key));
  if (!excess && Object.keys(lacking).length === 0) return message;
  const drop = (key: string) => excess && cacheHints.has(key);
  const rewritten = rewrite(message.bytes, result, { set: lacking, drop });
  const changed = skimMessage(spliceMessage(message, [{ span: result, with: rewritten }]));
  return changed.kind === 'result' ? changed : message;
}

const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const RESOURCE_NOT_FOUND = -32002;
/** Only in 2025-11-25: the call is over, and may be repeated after the user has visited some pages. */
export const URL_ELICITATION_REQUIRED = -32042;

/** Replaces codes that modern clients must never see, and codes that legacy clients do not know. */
export function errorFor(
  era: Era,
  { message, vocabulary }: { readonly message: ErrorResponse; readonly vocabulary: Era },
  row: MethodRow,
  uri: string | undefined,
): ErrorResponse {
  const code = errorCode(message);
  const mapped = era === 'modern' ? modernCode(code, vocabulary) : legacyCode(code, message, row, uri);
  const span = member(message.error, 'code');
  if (mapped === code || span === undefined) return message;
  const changed = skimMessage(spliceMessage(message, [{ span, with: String(mapped) }]));
  return changed.kind === 'error' ? changed : message;
}

export function errorCode(message: ErrorResponse): number {
  const span = member(message.error, 'code');
  const code = span === undefined ? Number.NaN : Number(textAt(message.bytes, span));
  return Number.isInteger(code) ? code : INTERNAL;
}

/**
 * -32002 and -32042 must not be emitted any more. Of -32020 to -32099 only the defined codes may be, with their defined
 * meanings; a legacy server's meanings of them are its own.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
 */
function modernCode(code: number, vocabulary: Era): number {
  if (code === RESOURCE_NOT_FOUND) return INVALID_PARAMS;
  const defined = vocabulary === 'modern' && (code === -32020 || code === -32021 || code === -32022);
  return code <= -32020 && code >= -32099 && !defined ? INTERNAL : code;
}

/** The legacy era does not know these modern codes, and no modern backend may use -32042. */
function legacyCode(code: number, message: ErrorResponse, row: MethodRow, uri: string | undefined): number {
  if (code === URL_ELICITATION_REQUIRED) return INTERNAL;
  if (code === -32020 || code === -32021 || code === -32022) return INTERNAL;
  if (code !== INVALID_PARAMS || row.method !== 'resources/read' || uri === undefined) return code;
  const data = member(message.error, 'data');
  const value = data && valueAt(message.bytes, data);
  const named = typeof value === 'object' && value !== null && 'uri' in value && value.uri === uri;
  return named ? RESOURCE_NOT_FOUND : code;
}

/**
 * The HTTP status of an error for a modern client.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header
 */
export function modernStatus(code: number): number | undefined {
  if (code === -32601) return 404;
  return code === -32020 || code === -32021 || code === -32022 ? 400 : undefined;
}
