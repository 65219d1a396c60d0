/**
 * What happens around an upstream call, composed in one place for clients of both eras. The outermost comes first, so what a
 * backend says passes the list from below: rules see the names that the client knows.
 *
 *   consent          asks a person to agree, where the backend demands it, and calls again
 *   reauthorize      authorizes later rounds of the same call
 *   response filter  keeps back what the client may not see, and what the backend may not ask
 *   client names     gives the client its own names back
 */
import type { StartCall } from '../../bridge/responder.ts';
import type { Call, CallRequest, CallSink } from '../../exchange/call.ts';
import type { Permit } from '../../policy/permit.ts';
import type { Notification } from '../../wire/message.ts';
import type { RequestContext } from '../context.ts';
import type { SharedServices } from '../services.ts';
import { inClientNames } from './client-names.ts';
import { withConsent } from './consent.ts';
import { withReauthorization } from './reauthorize.ts';
import { filterResponse } from './response-filter.ts';

/** The call to the backend itself, under a permit. */
export type UpstreamCall = (permit: Permit, request: CallRequest, sink: CallSink) => Call;

export function intercepted(
  shared: SharedServices,
  context: RequestContext,
  call: UpstreamCall,
  translate?: (notification: Notification) => Notification | undefined,
): StartCall {
  const { currentGeneration } = shared;
  const { principal, endpoint, row, resolved: target } = context;
  const { backend } = target;
  const start: StartCall = (next, sink) => {
    const { authorizer, permit } = context.authorization;
    const filtered = filterResponse(sink, { authorizer, currentGeneration, principal, endpoint, backend, row });
    return call(permit, next, inClientNames(filtered, target, translate));
  };
  return withConsent(withReauthorization(shared, context, start), shared);
}
