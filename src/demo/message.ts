/** The shapes of JSON-RPC as MCP uses it: string or integer ids, no `null`, named parameters only. */

export type JsonObject = { readonly [member: string]: unknown };
export type Id = string | number;
export type Send = (message: unknown) => void;

export interface Request {
  readonly kind: 'request';
  readonly id: Id;
  readonly method: string;
  readonly params: JsonObject;
}

export interface Notification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject;
}

export interface Response {
  readonly kind: 'response';
  readonly id: Id;
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

/** JSON, but no message. The id is kept where it can be read, so that the sender learns which of its messages failed. */
export interface Invalid {
  readonly kind: 'invalid';
  readonly id?: Id;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || Number.isInteger(value);
}

export function classify(value: unknown): Request | Notification | Response | Invalid {
  if (!isObject(value)) return { kind: 'invalid' };
  const { id, method, params = {}, result, error } = value;
  const invalid: Invalid = isId(id) ? { kind: 'invalid', id } : { kind: 'invalid' };
  if (value.jsonrpc !== '2.0') return invalid;
  if (typeof method === 'string') {
    if (!isObject(params)) return invalid;
    if (id === undefined) return { kind: 'notification', method, params };
    return isId(id) ? { kind: 'request', id, method, params } : invalid;
  }
  if (method !== undefined || !isId(id)) return invalid;
  if (isObject(result) && error === undefined) return { kind: 'response', id, result };
  if (isObject(error) && result === undefined) return { kind: 'response', id, error };
  return invalid;
}

export function notification(method: string, params?: JsonObject): JsonObject {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}
