/**
 * How an operation ended, as the labels `error_type` and `bascule_reason`. The convention's rule for `error.type`: the
 * JSON-RPC code as text, `tool_error` for a result with `isError`, otherwise a name of low cardinality.
 */
import { failures, type Reason } from '../../errors/failure.ts';
import type { ErrorResponse, ResultResponse } from '../../wire/message.ts';
import type { Era } from '../../wire/revisions.ts';
import { isInteger, isToolError, member, textAt } from '../../wire/values.ts';
import { OTHER } from './series.ts';

export interface EndingLabels {
  readonly errorType: string;
  /** The reason in docs/errors.md, where the gateway itself failed the operation. */
  readonly reason: string;
}

const reasons = Object.keys(failures) as Reason[];

/** JSON-RPC 2.0, section 5.1, and what the revisions of MCP added. */
const standardCodes = [-32700, -32600, -32601, -32602, -32603, -32800, -32042, -32002, -32001, -32000];
const codes = [...new Set([...standardCodes, ...reasons.flatMap((reason) => codesOf(reason))])];

function codesOf(reason: Reason): readonly number[] {
  return [failures[reason].legacy, failures[reason].modern];
}

/** Every ending that has labels of its own. An ending is known by its index here. */
export const endings: readonly EndingLabels[] = [
  { errorType: '', reason: '' },
  { errorType: 'tool_error', reason: '' },
  { errorType: 'cancelled', reason: '' },
  { errorType: OTHER, reason: '' },
  ...codes.map((code) => ({ errorType: String(code), reason: '' })),
  ...reasons.flatMap((reason) => [
    { errorType: String(failures[reason].legacy), reason },
    { errorType: String(failures[reason].modern), reason },
    // No response came from the backend, so there is no code.
    { errorType: reason, reason },
  ]),
];

export const WELL = 0;
const TOOL_ERROR = 1;
export const CANCELLED = 2;
const OTHER_CODE = 3;
const FIRST_CODE = 4;

const byCode = new Map(codes.map((code, at) => [code, FIRST_CODE + at]));
const byReason = new Map(reasons.map((reason, at) => [reason, FIRST_CODE + codes.length + at * 3]));

/** A failure that a client of this era was told. */
export function toldFailure(reason: Reason, era: Era): number {
  return (byReason.get(reason) ?? OTHER_CODE) + (era === 'modern' ? 1 : 0);
}

/** A failure of a call to a backend. */
export function callFailure(reason: Reason): number {
  return (byReason.get(reason) ?? OTHER_CODE) + 2;
}

export function errorEnding({ bytes, error }: ErrorResponse): number {
  const code = member(error, 'code');
  return codeEnding(code && isInteger(bytes, code) ? Number(textAt(bytes, code)) : undefined);
}

/** `code`: absent where the error has none. */
export function codeEnding(code: number | undefined): number {
  return (code === undefined ? undefined : byCode.get(code)) ?? OTHER_CODE;
}

export function resultEnding(message: ResultResponse): number {
  return isToolError(message) ? TOOL_ERROR : WELL;
}
