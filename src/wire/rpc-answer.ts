/** What a JSON-RPC service answered: bounded and passed on, not read, but for whether it is an answer at all. */
import { skipWhite } from './outline.ts';
import { membersAt, passOver } from './skim.ts';
import { member, stringAt } from './values.ts';

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
