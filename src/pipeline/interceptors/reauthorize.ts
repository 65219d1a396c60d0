/**
 * Later rounds of a call that the gateway drives itself: each is authorized, and recorded, on its own. Rounds of a
 * modern client are requests of their own, which the authorize stage has seen; but the call that is made again after
 * consent may be under a newer config than the request that asked for it.
 */
import type { Call, CallRequest, CallSink } from '../../exchange/call.ts';
import { LateCall } from '../../exchange/late-call.ts';
import type { Authorization } from '../../policy/authorization-request.ts';
import { approvedBy } from '../../policy/withheld.ts';
import { authorizeAgain } from '../authorize.ts';
import type { RequestContext } from '../context.ts';
import type { StageServices } from '../services.ts';

/** Whether the request is a round that no stage has authorized. */
export function isLaterRound({ shared }: StageServices, context: RequestContext, request: CallRequest): boolean {
  if (context.session !== undefined) return request.round !== undefined || request.again === true;
  return request.again === true && shared.currentGeneration.now.authorizer !== context.authorization.authorizer;
}

/** Ends the record of the round before, and begins the next call once it is authorized. */
export function reauthorize(services: StageServices, context: RequestContext, sink: CallSink, begin: () => Call): Call {
  const { exchange } = context;
  const { approval } = context.authorization;
  context.authorization.over?.({ outcome: 'asked' });
  exchange.watch(undefined);
  const granted = (authorization: Authorization) => {
    context.authorization = authorization;
    exchange.watch(authorization);
    return begin();
  };
  const abandoned = (authorization: Authorization) => authorization.over?.({ outcome: 'cancelled' });
  // Async only turns a value into a promise: the decision itself is made now.
  const again = async () => {
    // The rounds of an approved call are one call.
    return approvedBy(await authorizeAgain(services, context), approval);
  };
  return LateCall.after(again(), sink, granted, abandoned);
}
