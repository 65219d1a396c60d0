/** What a JSON-RPC service answered: bounded and passed on, not read, but for whether it is an answer at all. */
import { elementsAt } from './array.ts';
import type { Span } from './message.ts';
import { skipWhite } from './outline.ts';
import { membersAt, passOver } from './skim.ts';
import { member, stringAt, textAt } from './values.ts';

/** To a batch, an object answers it as a whole, an array its requests one by one. */
export function isRpcAnswer(bytes: Uint8Array, toBatch: boolean): boolean {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  try {
    const after = skipWhite(bytes, passOver(bytes, start, 'backend_invalid'), end);
    if (after < end) return false;
    const elements = elementsAt(bytes, { start, end });
    if (elements === undefined) return isAnswerAt(bytes, { start, end });
    return toBatch && elements.length > 0 && elements.every((element) => isAnswerAt(bytes, element));
  } catch {
    return false;
  }
}

function isAnswerAt(bytes: Uint8Array, span: Span): boolean {
  const object = membersAt(bytes, span);
  const version = member(object, 'jsonrpc');
  if (version === undefined || stringAt(bytes, version) !== '2.0') return false;
  return member(object, 'result') !== undefined || member(object, 'error') !== undefined;
}

export type RpcOutcome = 'result' | 'error';

/** How it went, by the id of the request as it was sent. Of what is an answer; nobody is accused whose answer cannot be found. */
export function rpcOutcomes(bytes: Uint8Array): (id: string | undefined) => RpcOutcome {
  const span = { start: skipWhite(bytes, 0, bytes.byteLength), end: bytes.byteLength };
  const elements = elementsAt(bytes, span);
  if (elements === undefined) {
    const outcome: RpcOutcome = member(membersAt(bytes, span), 'error') === undefined ? 'result' : 'error';
    return () => outcome;
  }
  const failed = new Set(
    elements.flatMap((element) => {
      const object = membersAt(bytes, element);
      const id = member(object, 'id');
      return id === undefined || member(object, 'error') === undefined ? [] : [textAt(bytes, id)];
    }),
  );
  return (id) => (id !== undefined && failed.has(id) ? 'error' : 'result');
}
