/**
 * The shapes of JSON-RPC as MCP uses it (string or integer ids, no `null`, named parameters only), its errors, and
 * readers for values that came from outside.
 */

export type JsonObject = { readonly [member: string]: unknown };
export type Id = string | number;
export type Send = (message: unknown) => void;

export interface Request {
  readonly kind: 'request';
  readonly id: Id;
  readonly method: string;
  readonly params: JsonObject;
}

export interface Response {
  readonly kind: 'response';
  readonly id: Id;
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

/**
 * `invalid` is JSON, but no message. The id is kept where it can be read, so that the sender learns which message
 * failed.
 */
type Message =
  | Request
  | Response
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'invalid'; readonly id?: Id };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || Number.isInteger(value);
}

export function classify(value: unknown): Message {
  if (!isObject(value)) return { kind: 'invalid' };
  const { id, method, params = {}, result, error } = value;
  const invalid: Message = isId(id) ? { kind: 'invalid', id } : { kind: 'invalid' };
  if (value.jsonrpc !== '2.0') return invalid;
  if (typeof method === 'string') {
    if (!isObject(params)) return invalid;
    if (id === undefined) return { kind: 'notification', method, params };
    return isId(id) ? { kind: 'request', id, method, params } : invalid;
  }
  if (method !== undefined || !isId(id)) return invalid;
  if (isObject(result) && error === undefined) return { kind: 'response', id, result };
  return isObject(error) && result === undefined ? { kind: 'response', id, error } : invalid;
}

export function notification(method: string, params: JsonObject): JsonObject {
  return { jsonrpc: '2.0', method, params };
}

export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Until 2025-11-25; forbidden since, where the same situation is `invalidParams`. */
  legacyResourceNotFound: -32002,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** What went wrong in a request, as the JSON-RPC error that says so. */
export class Failure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A parameter or argument is missing or of the wrong kind. */
export class BadValue extends Failure {
  constructor(message: string) {
    super(codes.invalidParams, message);
  }
}

/** Without a readable id the member is left out: some clients' parsers break on `id: null`. */
export function failureResponse(id: Id | undefined, error: unknown): JsonObject {
  const { code, message, data } = error instanceof Failure ? error : new Failure(codes.internalError, 'Internal error');
  const told = data === undefined ? { code, message } : { code, message, data };
  return { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: told };
}

export function textOf(source: JsonObject, member: string, otherwise?: string): string {
  const value = source[member] === undefined ? otherwise : source[member];
  if (typeof value !== 'string') throw new BadValue(`"${member}" must be a string`);
  return value;
}

export function integerOf(source: JsonObject, member: string, min: number, max: number, otherwise?: number): number {
  const value = source[member] === undefined ? otherwise : source[member];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new BadValue(`"${member}" must be an integer from ${min} to ${max}`);
  }
  return value;
}

export function objectOf(source: JsonObject, member: string, otherwise?: JsonObject): JsonObject {
  const value = source[member] === undefined ? otherwise : source[member];
  if (!isObject(value)) throw new BadValue(`"${member}" must be an object`);
  return value;
}
