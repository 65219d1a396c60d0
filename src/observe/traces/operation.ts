/** What spans say of an MCP message: its name, what it is about, and how it failed. Never arguments or results. */
import type { Failure } from '../../errors/failure.ts';
import type { CallOutcome, ServerRequestReply } from '../../exchange/call.ts';
import { concat } from '../../wire/compose.ts';
import type { ErrorResponse, Notification, Request } from '../../wire/message.ts';
import { membersAt } from '../../wire/skim.ts';
import { isInteger, isToolError, member, textAt, textMember } from '../../wire/values.ts';
import { attribute, cut, LONGEST_NAME } from './names.ts';
import type { SpanAttributes, SpanEnd } from './open-span.ts';

/** Methods about one thing that belongs into the span's name. A URI has too many values for that. */
const named: Readonly<Record<string, string>> = {
  'tools/call': attribute.tool,
  'prompts/get': attribute.prompt,
};

/** The name of the span, and the attributes that follow from the message and its id on that side alone. */
export function operationOf(
  message: Pick<Request | Notification, 'bytes' | 'method' | 'params'>,
  idRaw: string | undefined,
): SpanEnd {
  const { bytes, params } = message;
  const method = cut(message.method, LONGEST_NAME);
  const attributes: SpanAttributes = { [attribute.method]: method };
  if (idRaw !== undefined) attributes[attribute.requestId] = cut(idText(idRaw));
  const target = named[method];
  const name = target && textMember(bytes, params, 'name');
  if (target !== undefined && name !== undefined) attributes[target] = cut(name, LONGEST_NAME);
  if (method === 'tools/call') attributes[attribute.operation] = 'execute_tool';
  const uri = textMember(bytes, params, 'uri');
  if (uri !== undefined && method.startsWith('resources/')) attributes[attribute.resource] = cut(withoutSecrets(uri));
  return { name: cut(name === undefined ? method : `${method} ${name}`, LONGEST_NAME), attributes };
}

/** The id without the quotes of JSON. */
function idText(raw: string): string {
  return raw.startsWith('"') ? raw.slice(1, -1) : raw;
}

/** Credentials and queries of a URI may be secrets. */
function withoutSecrets(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1');
}

/** Marks the span as failed. Absent where nothing failed: the status then stays unset. */
export interface SpanFault {
  readonly type: string;
  /** The code of a JSON-RPC error. */
  readonly code?: number | undefined;
  readonly text?: string | undefined;
}

export function withFault({ name, attributes }: SpanEnd, fault: SpanFault | undefined): SpanEnd {
  if (fault === undefined) return { name, attributes };
  attributes[attribute.errorType] = fault.type;
  if (fault.code !== undefined) attributes[attribute.statusCode] = String(fault.code);
  return { name, attributes, error: cut(fault.text ?? '') };
}

/** The tool itself reported that it failed. */
export const toolFault: SpanFault = { type: 'tool_error' };

/** A failure that no JSON-RPC error stands for. */
export function failureFault(failure: Failure): SpanFault {
  return { type: failure.reason === 'backend_timeout' ? 'timeout' : failure.reason, text: failure.message };
}

export function errorFault({ bytes, error }: Pick<ErrorResponse, 'bytes' | 'error'>): SpanFault {
  const span = member(error, 'code');
  const code = span !== undefined && isInteger(bytes, span) ? Number(textAt(bytes, span)) : undefined;
  return { type: code === undefined ? 'invalid_error' : String(code), code, text: textMember(bytes, error, 'message') };
}

/** How a call to a backend failed. Undefined where it did not, and where it was cancelled. */
export function outcomeFault(outcome: CallOutcome | undefined, method: string): SpanFault | undefined {
  if (outcome === undefined) return undefined;
  if (outcome.kind === 'failure') return failureFault(outcome.failure);
  if (outcome.kind === 'error') return errorFault(outcome.message);
  return method === 'tools/call' && isToolError(outcome.message) ? toolFault : undefined;
}

/** The same for a server request. */
export function replyFault(reply: ServerRequestReply | undefined): SpanFault | undefined {
  if (reply === undefined || 'result' in reply) return undefined;
  if ('failure' in reply) return failureFault(reply.failure);
  const bytes = concat([reply.error]);
  const error = membersAt(bytes, { start: 0, end: bytes.byteLength });
  return error === undefined ? { type: 'invalid_error' } : errorFault({ bytes, error });
}
