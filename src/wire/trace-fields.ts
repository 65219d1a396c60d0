/**
 * Trace context in `_meta`: three unprefixed keys whose values have the form of the W3C headers of the same names.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
 */
import { concat, type Raw, rewrite } from './compose.ts';
import { membersAt } from './skim.ts';
import { member } from './values.ts';

/** What one hop tells the next about a trace. */
export interface TraceFields {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
}

export const traceKeys = ['traceparent', 'tracestate', 'baggage'] as const;

/** The members of `_meta`, without braces. A `traceparent` needs no escapes. */
export function traceMembers({ traceparent, tracestate, baggage }: TraceFields): string {
  let text = `"traceparent":"${traceparent}"`;
  if (tracestate !== undefined) text += `,"tracestate":${JSON.stringify(tracestate)}`;
  if (baggage !== undefined) text += `,"baggage":${JSON.stringify(baggage)}`;
  return text;
}

/** The same as HTTP headers, besides others. */
export function headersWithTrace(
  headers: Readonly<Record<string, string>>,
  { traceparent, tracestate, baggage }: TraceFields,
): Readonly<Record<string, string>> {
  const all: Record<string, string> = { ...headers, traceparent };
  if (tracestate !== undefined) all.tracestate = tracestate;
  if (baggage !== undefined) all.baggage = baggage;
  return all;
}

/** Parameters with these fields in their `_meta`, or with none where there are no fields. All other bytes stay. */
export function paramsWithTrace(params: Raw | undefined, fields: TraceFields | undefined): Raw | undefined {
  const own = fields && `{${traceMembers(fields)}}`;
  if (params === undefined) return own && `{"_meta":${own}}`;
  const bytes = concat([params]);
  const object = membersAt(bytes, { start: 0, end: bytes.byteLength });
  if (object === undefined) return params;
  const span = member(object, '_meta');
  const meta = span && membersAt(bytes, span);
  // A `_meta` that is no object means nothing, and would hide ours.
  if (meta === undefined) return own === undefined ? params : rewrite(bytes, object, { set: { _meta: own } });
  if (fields === undefined && !meta.members.some(({ key }) => isTraceKey(key))) return params;
  const set = Object.fromEntries(Object.entries(fields ?? {}).flatMap(quotedMember));
  return rewrite(bytes, object, { set: { _meta: rewrite(bytes, meta, { drop: isTraceKey, set }) } });
}

function isTraceKey(key: string): boolean {
  return (traceKeys as readonly string[]).includes(key);
}

function quotedMember([key, value]: readonly [string, string | undefined]): (readonly [string, string])[] {
  return value === undefined ? [] : [[key, JSON.stringify(value)]];
}
