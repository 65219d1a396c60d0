import type { Batch, Member, Message, ObjectSpan } from '../../src/wire/message.ts';
import { textAt } from '../../src/wire/values.ts';

/** What a message looks like when its spans are read out: every value as its text. */
export interface Outline {
  readonly kind: string;
  readonly id?: string | undefined;
  readonly key?: string | undefined;
  readonly method?: string;
  readonly params?: Record<string, string> | undefined;
  readonly result?: Record<string, string> | undefined;
  readonly error?: Record<string, string> | undefined;
  readonly meta?: Record<string, string> | undefined;
}

export function outline(message: Message | Batch): Outline {
  if (message.kind === 'batch') return { kind: 'batch' };
  const { bytes } = message;
  const members = (list: readonly Member[]): Record<string, string> =>
    Object.fromEntries(list.map((member) => [member.key, textAt(bytes, member)]));
  const object = (span: ObjectSpan | undefined): Record<string, string> | undefined => span && members(span.members);
  switch (message.kind) {
    case 'request':
      return {
        kind: 'request',
        id: message.id.raw,
        key: message.id.key,
        method: message.method,
        params: object(message.params),
        meta: object(message.meta),
      };
    case 'notification':
      return {
        kind: 'notification',
        method: message.method,
        params: object(message.params),
        meta: object(message.meta),
      };
    case 'result':
      return {
        kind: 'result',
        id: message.id.raw,
        key: message.id.key,
        result: object(message.result),
        meta: object(message.meta),
      };
    case 'error':
      return { kind: 'error', id: message.id?.raw, key: message.id?.key, error: object(message.error) };
  }
}

/** All objects whose members a reader noted. */
export function noted(message: Message): ObjectSpan[] {
  const spans = [
    'params' in message ? message.params : undefined,
    'result' in message ? message.result : undefined,
    'error' in message ? message.error : undefined,
    'meta' in message ? message.meta : undefined,
  ];
  return spans.filter((span) => span !== undefined);
}
