/** The row of a failure, and the error codes of JSON-RPC and MCP. */

/** Whose fault it is: determines the log level, and what a person should look at first. */
export type Blame = 'client' | 'backend' | 'gateway';

export interface FailureRow {
  readonly blame: Blame;
  /**
   * HTTP status in response to a POST. 200 means that the failure is reported in JSON-RPC only, so that clients that
   * probe for the era are not disturbed.
   */
  readonly status: number;
  /** JSON-RPC error code for legacy and modern clients. -32001, -32002 and -32042 must not reach a modern client. */
  readonly legacy: number;
  readonly modern: number;
  /** For people. A failure may carry a more specific message, but never one that repeats a secret or an exception. */
  readonly message: string;
  /** For the documentation: when this happens, and what to do. */
  readonly when: string;
}

export const PARSE = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL = -32603;
export const SESSION_NOT_FOUND = -32001;
/**
 * The code that existing servers send to legacy clients. It equals SESSION_NOT_FOUND; the HTTP status distinguishes the
 * two.
 */
export const UNAUTHORIZED = { legacy: -32001, modern: 401 };
export const RESOURCE_NOT_FOUND = -32002;
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;

/** The error code, where both eras have the same, or the code of each era. */
type Code = number | Pick<FailureRow, 'legacy' | 'modern'>;

interface UsualFacts extends Pick<FailureRow, 'blame' | 'status'> {
  readonly code: Code;
}

type RowFacts = Partial<UsualFacts> & Pick<FailureRow, 'message' | 'when'>;

/** The rows of one subject. Each says only what is not `usual`. */
export function rows<R extends string>(usual: UsualFacts, given: Record<R, RowFacts>): Record<R, FailureRow> {
  const row = ([reason, facts]: [string, RowFacts]) => {
    const { blame, status, code, message, when } = { ...usual, ...facts };
    const codes = typeof code === 'number' ? { legacy: code, modern: code } : code;
    return [reason, { blame, status, ...codes, message, when }];
  };
  return Object.fromEntries(Object.entries<RowFacts>(given).map(row)) as Record<R, FailureRow>;
}
