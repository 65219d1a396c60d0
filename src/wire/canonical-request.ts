/**
 * A canonical text of a request, equal when the request is sent again: members sorted, strings normalised. Numbers keep
 * their spelling, since a backend may distinguish numbers that are equal to us (`1e400` is not `null`, 9007199254740993
 * not ...992). Binds a `requestState` to the request that it was issued for.
 */
import { elementsAt } from './array.ts';
import type { ObjectSpan, Span } from './message.ts';
import { membersAt } from './skim.ts';
import { stringAt, textAt } from './values.ts';

/** For a value that was read strictly, so that its depth is bounded. */
function canonical(bytes: Uint8Array, span: Span): string {
  const elements = elementsAt(bytes, span);
  if (elements !== undefined) return `[${elements.map((element) => canonical(bytes, element)).join(',')}]`;
  const object = membersAt(bytes, span);
  if (object !== undefined) return canonicalMembers(bytes, object);
  const text = stringAt(bytes, span);
  return text === undefined ? textAt(bytes, span) : JSON.stringify(text);
}

/** For an object, without the members that may differ. */
export function canonicalMembers(bytes: Uint8Array, object: ObjectSpan, without?: ReadonlySet<string>): string {
  const members = object.members
    .filter(({ key }) => without?.has(key) !== true)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((member) => `${JSON.stringify(member.key)}:${canonical(bytes, member)}`);
  return `{${members.join(',')}}`;
}
