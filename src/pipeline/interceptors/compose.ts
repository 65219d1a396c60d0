/**
 * The interceptors around an upstream call, composed in one place for clients of both eras. Outermost first:
 *
 *   consent         asks a person for consent, where the backend demands it, and calls again
 *   reauthorize     authorizes later rounds of the same call
 *   response filter removes what the client may not see, and what the backend may not ask
 *   client names    translates backend names into the client's names
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
  return withConsent(withReauthorization(context, start), shared);
}
