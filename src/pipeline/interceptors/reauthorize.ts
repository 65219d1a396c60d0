/**
 * Later rounds of a call that the gateway drives itself: each is authorized, and recorded, on its own. Rounds of a modern client
 * are requests of their own, which the authorize stage has seen; but the call that is made again after consent may be under a
 * newer config than the request that asked for it.
 */
import type { StartCall } from '../../bridge/responder.ts';
import { LateCall } from '../../exchange/late-call.ts';
import type { Authorization } from '../../policy/authorization-request.ts';
import type { RequestContext } from '../context.ts';
import type { CurrentGeneration } from '../generation.ts';

export function withReauthorization(
  { currentGeneration }: { readonly currentGeneration: CurrentGeneration },
  context: RequestContext,
  start: StartCall,
): StartCall {
  return (next, sink) => {
    const { authorization, exchange, session } = context;
    const isOutdated = currentGeneration.now.authorizer !== authorization.authorizer;
    const isLater =
      session === undefined ? next.again === true && isOutdated : next.round !== undefined || next.again === true;
    if (!isLater || authorization.again === undefined) return start(next, sink);
    authorization.over?.({ outcome: 'asked' });
    exchange.watch(undefined);
    const begin = (granted: Authorization) => {
      context.authorization = granted;
      exchange.watch(granted.over);
      return start(next, sink);
    };
    const nothing = ({ over }: Authorization) => over?.({ outcome: 'cancelled' });
    // `askAgain` only turns a value into a promise: the decision itself is made now.
    return LateCall.after(askAgain(authorization.again), sink, begin, nothing);
  };
}

async function askAgain(again: NonNullable<Authorization['again']>): Promise<Authorization> {
  return again();
}
