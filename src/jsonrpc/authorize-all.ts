/** Authorizes what came to a JSON-RPC endpoint: all of its members may go to the service, or none. */
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
  /** The permit of one call stands for all. */
  readonly permit: Permit;
  readonly calls: readonly ClearedCall[];
}

export interface ClearedCall {
  readonly id: string | undefined;
  readonly authorization: Authorization;
}

/**
 * Authorizes and records every call before any of them is sent. Throws the first denial; no allowed call is sent then.
 * A client's responses have no method, and pass.
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
