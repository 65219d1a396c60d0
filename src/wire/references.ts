/**
 * Checks members deeper in `params` than the outline that decisions depend on: the `ref` of a `completion/complete` and
 * the filter of a `subscriptions/listen`. A member there that readers could interpret differently is refused.
 */
import { Failure } from '../errors/failure.ts';
import { takenFor } from './fold.ts';
import type { Id, Message, ObjectSpan, Request, Span } from './message.ts';
import { NOTED_MEMBERS } from './outline.ts';
import { membersAt } from './skim.ts';
import { member, stringAt } from './values.ts';
import { folds } from './vocabulary.ts';

/** Throws a `Failure`. */
export function checkReferences(message: Message): void {
  if (message.kind !== 'request') return;
  if (message.method === 'completion/complete') checkRef(message);
  else if (message.method === 'subscriptions/listen') checkedMembers(message, 'notifications');
}

/** By type of reference, the member that only the other type has. */
const stray: Readonly<Record<string, string>> = { 'ref/prompt': 'uri', 'ref/resource': 'name' };

function checkRef(request: Request): void {
  const ref = checkedMembers(request, 'ref');
  const type = member(ref, 'type');
  const kind = type && stringAt(request.bytes, type);
  const other = kind === undefined || !Object.hasOwn(stray, kind) ? undefined : stray[kind];
  if (other === undefined || member(ref, other) === undefined) return;
  throw new Failure('ambiguous_json', { message: `${kind} must not have ${other}`, id: request.id.raw });
}

function checkedMembers({ bytes, params, id }: Request, key: 'ref' | 'notifications'): ObjectSpan | undefined {
  const span = member(params, key);
  const object = span && noted(bytes, span, id);
  for (const { key: name } of object?.members ?? []) {
    const word = takenFor(folds[key], name);
    if (word === undefined) continue;
    throw new Failure('ambiguous_json', { message: `${name} differs from ${word} in case alone`, id: id.raw });
  }
  return object;
}

/** The grammar was checked before, so the only possible failure is too many members. */
function noted(bytes: Uint8Array, span: Span, { raw }: Id): ObjectSpan | undefined {
  try {
    return membersAt(bytes, span, NOTED_MEMBERS);
  } catch {
    throw new Failure('too_many_members', { id: raw, data: { offset: span.start } });
  }
}
