/**
 * Trace context and baggage as they are on the wire. Everything comes from strangers: what is malformed is as good as
 * absent, and nothing throws. https://www.w3.org/TR/trace-context/, https://www.w3.org/TR/baggage/
 */
import type { TraceFields } from '../../wire/trace-fields.ts';

/** A span, here or at another hop. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
}

/** Returns the text of a key of `_meta`, or of a header of that name. */
export type ReadField = (key: keyof TraceFields) => string | undefined;

const traceparentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;

/** The span that sent a message. Undefined where the message names none, or none that is valid. */
export function placeFrom(read: ReadField): SpanPlace | undefined {
  const text = read('traceparent');
  if (text === undefined) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = traceparentForm.exec(text) ?? [];
  // A later version may append fields; this one has none.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, isSampled, tracestate: validState(read('tracestate')) };
}

export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** The specification asks for at least 512 characters, and allows 32 members. */
const STATE_CHARACTERS = 512;
const STATE_MEMBERS = 32;
const stateMember =
  /^[ \t]*(?:[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])?[ \t]*$/;

function validState(text: string | undefined): string | undefined {
  if (text === undefined || text.length > STATE_CHARACTERS) return undefined;
  const members = text.split(',');
  const isValid = members.length <= STATE_MEMBERS && members.every((member) => stateMember.test(member));
  return isValid && text.trim() !== '' ? text : undefined;
}

/** The specification's own limit. */
const BAGGAGE_CHARACTERS = 8_192;
const baggageMember =
  /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*(?:[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+[ \t]*)?(?:;[\x20-\x2b\x2d-\x7e]*)?$/;

/** The members of baggage with these keys. Others do not pass: a backend need not be trusted with them. */
export function listedBaggage(text: string | undefined, keys: ReadonlySet<string>): string | undefined {
  if (text === undefined || keys.size === 0 || text.length > BAGGAGE_CHARACTERS) return undefined;
  const kept = text.split(',').filter((member) => keys.has(baggageMember.exec(member)?.[1] ?? ''));
  return kept.length === 0 ? undefined : kept.map((member) => member.trim()).join(',');
}
