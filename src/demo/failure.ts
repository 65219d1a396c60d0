/** What can go wrong in a request, as the JSON-RPC error that says so. */
import type { Id, JsonObject } from './message.ts';

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

/** https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling */
export class ResourceNotFound extends Failure {
  constructor(uri: string) {
    super(codes.invalidParams, 'Resource not found', { uri });
  }
}

/** A question to the client had no answer: it can't be asked such things, it answered with an error, or it took too long. */
export class Unanswered extends Failure {
  constructor(message: string) {
    super(codes.invalidRequest, message);
  }
}

export function methodNotFound(method: string): Failure {
  return new Failure(codes.methodNotFound, `Method not found: ${method}`);
}

/** Without a readable id the member is left out: some clients' parsers break on `id: null`. */
export function failureResponse(id: Id | undefined, error: unknown): JsonObject {
  const failure = error instanceof Failure ? error : new Failure(codes.internalError, 'Internal error');
  const { code, message, data } = failure;
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: data === undefined ? { code, message } : { code, message, data },
  };
}
