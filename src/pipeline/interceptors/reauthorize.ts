/**
 * Authorizes and records each later round of a call that the gateway drives itself. A modern client's rounds are
 * requests of their own, which the authorize stage has decided.
 */
import type { StartCall } from '../../bridge/responder.ts';
import { LateCall } from '../../exchange/late-call.ts';
import type { Authorization } from '../../policy/authorization-request.ts';
import type { RequestContext } from '../context.ts';

export function withReauthorization(context: RequestContext, start: StartCall): StartCall {
  if (context.session === undefined) return start;
  return (next, sink) => {
    const isLater = next.round !== undefined || next.again === true;
    const { authorization, exchange } = context;
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
