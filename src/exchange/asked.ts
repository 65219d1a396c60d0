/** The part of a message that identity needs: which scopes it requires, and how a refusal is reported. */
import type { AuthContext, ScopedOperation } from '../identity/principal.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { RpcMessage } from '../wire/rpc.ts';
import { textMember } from '../wire/values.ts';

/** The operation of a request. Every other message needs only the scopes of its endpoint. */
export function operationOf(message: Message | Batch): ScopedOperation | undefined {
  if (message.kind !== 'request') return undefined;
  const { method } = message;
  return method === 'tools/call' ? { method, tool: textMember(message.bytes, message.params, 'name') } : { method };
}

export function askedOf(message: Message | Batch): AuthContext {
  const operation = operationOf(message);
  return operation === undefined ? { kind: 'other' } : { kind: 'request', operation };
}

/** The same for JSON-RPC that is not MCP. */
export function rpcAsked(message: RpcMessage | Batch): AuthContext {
  if (message.kind === 'batch' || message.kind === 'answer') return { kind: 'other' };
  const operation = { method: message.method };
  return { kind: message.kind === 'request' ? 'request' : 'other', operation };
}
