/** Whether what came to a JSON-RPC endpoint may go to the service: all of it, or none. */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import { abandonAuthorization } from '../pipeline/authorize.ts';
import { RPC } from '../policy/actions.ts';
import { permitAnswer } from '../policy/answers.ts';
import { type Authorization, type AuthorizationRequest, judgedAt } from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Permit } from '../policy/permit.ts';
import { Denied } from '../policy/refusals.ts';
import type { RpcCall, RpcMessage } from '../wire/rpc.ts';

export interface RpcAsking {
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  /** The name of the service. */
  readonly backend: string;
}

export interface RpcAuthorized {
  /** Of one for all. */
  readonly permit: Permit;
  readonly calls: readonly ClearedCall[];
}

export interface ClearedCall {
  readonly id: string | undefined;
  readonly authorization: Authorization;
}

/**
 * Every call is decided, and recorded, before any of them is sent. Throws the first denial, and nothing of what was allowed is
 * done then. What clients answer has no method, and passes.
 */
export function decideAll(authorizer: Authorizer, asking: RpcAsking, messages: readonly RpcMessage[]): RpcAuthorized {
  const calls: ClearedCall[] = [];
  let denial: Denied | undefined;
  try {
    for (const message of messages) {
      if (message.kind === 'answer') continue;
      try {
        calls.push({ id: message.id, authorization: authorizer.ask(wishFor(asking, message)) });
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        denial ??= error;
      }
    }
    if (denial !== undefined) throw denial;
  } catch (error) {
    for (const { authorization } of calls) abandonAuthorization(authorization);
    throw error;
  }
  return { permit: calls[0]?.authorization.permit ?? permitAnswer(asking.principal, authorizer.generation), calls };
}

function wishFor({ principal, endpoint, backend }: RpcAsking, call: RpcCall): AuthorizationRequest {
  const { method, kind } = call;
  return {
    principal,
    endpoint,
    backend,
    revision: undefined,
    row: { method, kind, action: RPC },
    thing: { kind: 'method', name: method },
    arguments: () => call.params && judgedAt(call.bytes, call.params),
  };
}
