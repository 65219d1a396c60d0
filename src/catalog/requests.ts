/** What a message names, and the same message under another name: the backend's on the way there, the client's on the way back. */
import { Failure } from '../errors.ts';
import { spliceMessage } from '../wire/compose.ts';
import type { Batch, Member, Message, Notification, Request, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { membersAt, skimMessage } from '../wire/skim.ts';
import { member, stringAt } from '../wire/values.ts';

export interface Target {
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly text: string;
  /** Of the JSON string within the message. */
  readonly span: Span;
}

/** Undefined where the method names nothing that an endpoint renames, or the message does not name it. */
export function targetOf({ bytes, params }: Request | Notification, row: MethodRow): Target | undefined {
  const named = (kind: Target['kind'], at: Member | undefined): Target | undefined => {
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

/** The same message for `to`, everything else byte for byte. Read anew: all spans behind the name move. */
export function renamed<M extends Request | Notification>(message: M, row: MethodRow, to: string): M {
  const target = targetOf(message, row);
  if (target === undefined) throw new Failure('invalid_params');
  if (target.text === to) return message;
  const read = skimMessage(spliceMessage(message, [{ span: target.span, with: JSON.stringify(to) }]));
  if (!isSameKind(read, message)) throw new Failure('internal_error');
  return read;
}

function isSameKind<M extends Message>(read: Message | Batch, message: M): read is M {
  return read.kind === message.kind;
}
