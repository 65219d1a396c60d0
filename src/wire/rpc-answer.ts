/** What a JSON-RPC service answered: bounded and passed on, not read, but for whether it is an answer at all. */
import { elementsAt } from './array.ts';
import type { Span } from './message.ts';
import { skipWhite } from './outline.ts';
import { membersAt, passOver } from './skim.ts';
import { member, stringAt, textAt } from './values.ts';

/** To a batch, an object answers it as a whole, an array its members one by one. */
export function isRpcAnswer(bytes: Uint8Array, toBatch: boolean): boolean {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  try {
    const after = skipWhite(bytes, passOver(bytes, start, 'backend_invalid'), end);
    if (after < end) return false;
    if (bytes[start] === 0x5b /* [ */) return toBatch;
    const object = membersAt(bytes, { start, end: after });
    const version = member(object, 'jsonrpc');
    if (object === undefined || version === undefined || stringAt(bytes, version) !== '2.0') return false;
    return member(object, 'result') !== undefined || member(object, 'error') !== undefined;
  } catch {
    return false;
  }
}

/** How it went, by the id of the request as it was sent. An answer that nobody can find was none of an error. */
export function rpcOutcomes(bytes: Uint8Array): (id: string | undefined) => 'result' | 'error' {
  const span = { start: skipWhite(bytes, 0, bytes.byteLength), end: bytes.byteLength };
  const elements = elementsAt(bytes, span);
  if (elements === undefined) {
    const outcome = outcomeAt(bytes, span).outcome;
    return () => outcome;
  }
  const byId = new Map(elements.map((element) => outcomeAt(bytes, element)).map(({ id, outcome }) => [id, outcome]));
  return (id) => (id === undefined ? 'result' : (byId.get(id) ?? 'result'));
}

function outcomeAt(bytes: Uint8Array, span: Span): { readonly id: string; readonly outcome: 'result' | 'error' } {
  const object = membersAt(bytes, span);
  const id = member(object, 'id');
  const outcome = member(object, 'error') === undefined ? 'result' : 'error';
  return { id: id === undefined ? 'null' : textAt(bytes, id), outcome };
}
