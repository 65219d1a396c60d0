/**
 * Finds the target that a message names, and renames it: to the backend's name upstream, to the client's name
 * downstream.
 */
import { Failure } from '../errors/failure.ts';
import { concat } from '../wire/compose.ts';
import type { Member, Notification, ObjectSpan, Request, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { membersAt } from '../wire/skim.ts';
import { member, stringAt } from '../wire/values.ts';

export interface NamedTarget {
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly text: string;
  /** The span of the JSON string within the message. */
  readonly span: Span;
}

/** Undefined if the method has no target that an endpoint renames, or the message does not name it. */
export function targetOf({ bytes, params }: Request | Notification, row: MethodRow): NamedTarget | undefined {
  const named = (kind: NamedTarget['kind'], at: Member | undefined): NamedTarget | undefined => {
    const text = at && stringAt(bytes, at);
    return at === undefined || text === undefined ? undefined : { kind, text, span: { start: at.start, end: at.end } };
  };
  switch (row.name) {
    case 'name':
      return named(row.capability === 'prompts' ? 'prompt' : 'tool', member(params, 'name'));
    case 'uri':
      return named('resource', member(params, 'uri'));
    case 'ref': {
      const at = member(params, 'ref');
      const ref = at && membersAt(bytes, at);
      const type = member(ref, 'type');
      switch (type && stringAt(bytes, type)) {
        case 'ref/prompt':
          return named('prompt', member(ref, 'name'));
        case 'ref/resource':
          return named('resource', member(ref, 'uri'));
        default:
          return undefined;
      }
    }
    default:
      return undefined;
  }
}

/**
 * The same message with the target `to`, the rest byte for byte. It is not parsed again: spans after the name are
 * shifted.
 */
export function renamed<M extends Request | Notification>(
  message: M,
  row: MethodRow,
  to: string,
  target = targetOf(message, row),
): M {
  if (target === undefined) throw new Failure('invalid_params');
  if (target.text === to) return message;
  const { start: from, end } = target.span;
  const bytes = concat([message.bytes.subarray(0, from), JSON.stringify(to), message.bytes.subarray(end)]);
  const by = bytes.byteLength - message.bytes.byteLength;
  return {
    ...message,
    bytes,
    params: movedObject(message.params, from, by),
    meta: movedObject(message.meta, from, by),
  };
}

/** Shifts spans after the value at `from`, which has grown by `by` bytes. No recorded span is inside that value. */
function moved(members: readonly Member[], from: number, by: number): readonly Member[] {
  return members.map(({ key, keyStart, start, end }) => ({
    key,
    keyStart: keyStart > from ? keyStart + by : keyStart,
    start: start > from ? start + by : start,
    end: end > from ? end + by : end,
  }));
}

function movedObject(object: ObjectSpan | undefined, from: number, by: number): ObjectSpan | undefined {
  if (object === undefined) return undefined;
  const { start, end, members } = object;
  return {
    start: start > from ? start + by : start,
    end: end > from ? end + by : end,
    members: moved(members, from, by),
  };
}
