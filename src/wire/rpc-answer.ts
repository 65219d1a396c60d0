/** A response of a JSON-RPC service. It is bounded and passed on unread; only whether it is a response is checked. */
import { elementsAt } from './array.ts';
import type { Span } from './message.ts';
import { skipWhite } from './outline.ts';
import { membersAt, passOver } from './skim.ts';
import { member, stringAt, textAt } from './values.ts';

/** An object answers a batch as a whole; an array answers its requests one by one. */
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

/**
 * The outcome by the request's raw id, for bytes that `isRpcAnswer` accepts. A request without a matching error counts
 * as successful.
 */
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
