/**
 * The arguments of a call as a person sees them: whole, with numbers as they are spelled, and without the values that
 * the audit trail redacts. What cannot be shown whole cannot be approved.
 */
import { type Redaction, STARS } from '../observe/audit-redact.ts';
import { readPinValue } from '../pins/read-value.ts';
import { isMembers, type PinValue, prettyText, Unpinnable } from '../pins/value.ts';
import { rewrite } from '../wire/compose.ts';
import { membersAt } from '../wire/skim.ts';
import { slice } from '../wire/values.ts';
import { visible } from '../wire/visible.ts';
import { digest, isBound } from './binding.ts';
import type { CallToApprove, Preview } from './ports.ts';

/** Some 200 lines: a person reads no more. */
const CHARACTERS = 8 * 1024;
/** The target is named above the arguments. */
const shownApart: ReadonlySet<string> = new Set(['name', 'uri', 'arguments', 'task']);

export function previewOf(call: CallToApprove, secrets: Redaction): Preview {
  const whole = shown(call, secrets);
  const text = whole === undefined ? '' : whole.slice(0, CHARACTERS);
  return { text, isComplete: whole !== undefined && whole.length <= CHARACTERS, hash: digest(text) };
}

/** Undefined where the arguments cannot be read. */
function shown(call: CallToApprove, secrets: Redaction): string | undefined {
  const { bytes, arguments: own, task } = call;
  try {
    const further = furtherParameters(call);
    const parts = [
      own && textOf(slice(bytes, own), secrets),
      task && `As a task: ${textOf(slice(bytes, task), secrets)}`,
      further && `Further parameters: ${textOf(further, secrets)}`,
    ];
    return parts.filter((part) => part !== undefined).join('\n');
  } catch (error) {
    if (error instanceof Unpinnable) return undefined;
    throw error;
  }
}

/** What the approval is bound to beside the target and its arguments. Undefined where there is nothing. */
function furtherParameters(call: CallToApprove): Uint8Array | undefined {
  const { bytes, params, arguments: own } = call;
  const object = params && params !== own ? membersAt(bytes, params) : undefined;
  const isFurther = (key: string) => isBound(key, call) && !shownApart.has(key);
  if (object?.members.some(({ key }) => isFurther(key)) !== true) return undefined;
  return rewrite(bytes, object, { drop: (key) => !isFurther(key) });
}

function textOf(json: Uint8Array, secrets: Redaction): string {
  const lines = prettyText(redacted(readPinValue(json), secrets)).split('\n');
  return lines.map((line) => visible(line)).join('\n');
}

function redacted(value: PinValue, secrets: Redaction): PinValue {
  if (secrets.hides) return STARS;
  if (isMembers(value)) return new Map([...value].map(([key, one]) => [key, redacted(one, secrets.within(key))]));
  if (Array.isArray(value)) return value.map((one, at) => redacted(one, secrets.within(String(at))));
  return value;
}
