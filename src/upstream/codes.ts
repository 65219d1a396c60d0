/** What a backend's error reveals about its era. */
import type { ErrorResponse } from '../wire/message.ts';
import { isInteger, member, textAt } from '../wire/values.ts';

/** Undefined where the code is no integer: it proves nothing then. */
export function codeOf({ bytes, error }: ErrorResponse): number | undefined {
  const code = member(error, 'code');
  return code !== undefined && isInteger(bytes, code) ? Number(textAt(bytes, code)) : undefined;
}

const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;
export const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/** Error codes that only a modern server uses. A server that sends one is not taken for a legacy one. */
export function onlyModern(code: number | undefined): boolean {
  return code === HEADER_MISMATCH || code === MISSING_CAPABILITY || code === UNSUPPORTED_VERSION;
}

/**
 * Whether an error to a modern request looks like a legacy server's: a 400, 404 or 405 that a modern server would have
 * explained. A modern server sends 404 only with "method not found", and 400 with its own codes or "invalid params".
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility
 */
export function turnedLegacy(code: number | undefined, status: number | undefined): boolean {
  if (code === UNSUPPORTED_VERSION || code === METHOD_NOT_FOUND) return true;
  if (onlyModern(code)) return false;
  if (status === 400) return code !== INVALID_PARAMS;
  return status === 404 || status === 405;
}
