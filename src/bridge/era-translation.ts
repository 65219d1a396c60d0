/**
 * The same outcome in the words of the other era. Only what the protocol itself says is changed: members of a result that
 * belong to the tool, the prompt or the resource stay as they are.
 */
import { concat, type Raw, rewrite, spliceMessage } from '../wire/compose.ts';
import type { ErrorResponse, ResultResponse } from '../wire/message.ts';
import { metaKeys } from '../wire/meta.ts';
import type { MethodRow } from '../wire/methods.ts';
import { isLikeQuestion } from '../wire/questions.ts';
import type { Era } from '../wire/revisions.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, slice, stringAt, textAt, valueAt } from '../wire/values.ts';

const OPEN_BRACE = 0x7b;
const { serverInfo } = metaKeys;
const cacheHints: ReadonlySet<string> = new Set(['ttlMs', 'cacheScope']);
const modernMembers: ReadonlySet<string> = new Set(['resultType', ...cacheHints]);

/** `complete` where the backend said nothing: results of earlier revisions have no type. */
export function resultType(message: ResultResponse): string | undefined {
  const type = member(message.result, 'resultType');
  return type === undefined ? 'complete' : stringAt(message.bytes, type);
}

/** The result object without the words that only the modern era has. */
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

/** The result object with the words that the modern era needs. A legacy backend says nothing of caching, so nothing is cached. */
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
  // A legacy result has no words of a question; to a reader that ignores case it must not seem to have some.
  return rewrite(message.bytes, message.result, { set, drop: isLikeQuestion });
}

/**
 * A modern backend's result, with what it left out of what every result has, and without hints for caches where nothing may
 * be cached. Ordinarily there is nothing to do.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cacheable-results
 */
export function completed(message: ResultResponse, row: MethodRow): ResultResponse {
  const { result } = message;
  const isTyped = member(result, 'resultType') !== undefined;
  const isComplete = resultType(message) === 'complete';
  // Calls of tools come this way, and nearly all of them.
  if (isTyped && isComplete && row.cacheable !== true) return message;
  const lacking: Record<string, Raw> = {};
  if (!isTyped) lacking.resultType = '"complete"';
  if (isComplete && row.cacheable === true) {
    if (member(result, 'ttlMs') === undefined) lacking.ttlMs = '0';
    if (member(result, 'cacheScope') === undefined) lacking.cacheScope = '"private"';
  }
  const excess = !isComplete && result.members.some(({ key }) => cacheHints.has(key));
  if (!excess && Object.keys(lacking).length === 0) return message;
  const drop = (key: string) => excess && cacheHints.has(key);
  const rewritten = rewrite(message.bytes, result, { set: lacking, drop });
  const changed = skimMessage(spliceMessage(message, [{ span: result, with: rewritten }]));
  return changed.kind === 'result' ? changed : message;
}

const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const RESOURCE_NOT_FOUND = -32002;
/** 2025-11-25 alone has it: the call is over, and may be made again once the pages were visited. */
export const URL_ELICITATION_REQUIRED = -32042;

/** Codes that modern clients must never see, and the ones that legacy clients do not know, become ones that they do. */
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
 * -32002 and -32042 must not be emitted any more; of -32020 to -32099 only the defined ones may be, and with their meanings:
 * what a legacy server means by them is its own.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
 */
function modernCode(code: number, vocabulary: Era): number {
  if (code === RESOURCE_NOT_FOUND) return INVALID_PARAMS;
  const defined = vocabulary === 'modern' && (code === -32020 || code === -32021 || code === -32022);
  return code <= -32020 && code >= -32099 && !defined ? INTERNAL : code;
}

/** What the modern era calls by these codes the legacy one does not know; and -32042 is a word that no modern backend has. */
function legacyCode(code: number, message: ErrorResponse, row: MethodRow, uri: string | undefined): number {
  if (code === URL_ELICITATION_REQUIRED) return INTERNAL;
  if (code === -32020 || code === -32021 || code === -32022) return INTERNAL;
  if (code !== INVALID_PARAMS || row.method !== 'resources/read' || uri === undefined) return code;
  const data = member(message.error, 'data');
  const value = data && valueAt(message.bytes, data);
  const named = typeof value === 'object' && value !== null && 'uri' in value && value.uri === uri;
  return named ? RESOURCE_NOT_FOUND : code;
}
