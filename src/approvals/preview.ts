/**
 * The arguments of a call as a person sees them: whole, with numbers as they are spelled, and without the values that
 * the audit trail redacts. What cannot be shown whole cannot be approved.
 */
import { type Redaction, STARS } from '../observe/audit-redact.ts';
import { readPinValue } from '../pins/read-value.ts';
import { isMembers, type PinValue, prettyText, Unpinnable } from '../pins/value.ts';
import { visible } from '../web/visible.ts';
import type { Span } from '../wire/message.ts';
import { slice } from '../wire/values.ts';
import { digest } from './binding.ts';
import type { CallToApprove, Preview } from './ports.ts';

/** Some 200 lines: a person reads no more. */
const CHARACTERS = 8 * 1024;

export function previewOf(call: CallToApprove, secrets: Redaction): Preview {
  const whole = shown(call, secrets);
  const text = whole === undefined ? '' : whole.slice(0, CHARACTERS);
  return { text, isComplete: whole !== undefined && whole.length <= CHARACTERS, hash: digest(text) };
}

/** Undefined where the arguments cannot be read. */
function shown({ bytes, arguments: own, task }: CallToApprove, secrets: Redaction): string | undefined {
  try {
    const parts = [own && textAt(bytes, own, secrets), task && `As a task: ${textAt(bytes, task, secrets)}`];
    return parts.filter((part) => part !== undefined).join('\n');
  } catch (error) {
    if (error instanceof Unpinnable) return undefined;
    throw error;
  }
}

function textAt(bytes: Uint8Array, span: Span, secrets: Redaction): string {
  const lines = prettyText(redacted(readPinValue(slice(bytes, span)), secrets)).split('\n');
  return lines.map((line) => visible(line)).join('\n');
}

function redacted(value: PinValue, secrets: Redaction): PinValue {
  if (secrets.hides) return STARS;
  if (isMembers(value)) return new Map([...value].map(([key, one]) => [key, redacted(one, secrets.within(key))]));
  if (Array.isArray(value)) return value.map((one, at) => redacted(one, secrets.within(String(at))));
  return value;
}
