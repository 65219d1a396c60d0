/** Whether the sender's credentials cover what a message asks for. */

import type { ResolvedTarget } from '../catalog/resolved-target.ts';
import { Failure } from '../errors/failure.ts';
import { operationOf } from '../exchange/asked.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { RequestContext } from './context.ts';

/** Throws a Failure that names every missing scope. On HTTP+SSE the scopes were checked when the message came in. */
export function demandScopes(context: RequestContext, messages: readonly (Message | Batch)[]): void {
  const { generation, endpoint, principal, credentials, connection } = context;
  const { authenticator } = generation;
  if (connection?.via === 'sse' || principal.scopes === 'all' || !authenticator.demandsScopes(endpoint.path)) return;
  for (const message of messages) {
    const failure = authenticator.check(endpoint.path, principal, credentials, operationOf(message) ?? {});
    if (failure instanceof Failure) throw failure;
  }
}

/** Checks every name of the tool: the client may have used a different one than the config does. */
export function demandToolScopes(
  { generation: { authenticator }, endpoint, principal, credentials }: RequestContext,
  { names }: ResolvedTarget,
): void {
  if (names === undefined || principal.scopes === 'all' || !authenticator.demandsScopes(endpoint.path)) return;
  for (const tool of names) {
    const failure = authenticator.check(endpoint.path, principal, credentials, { method: 'tools/call', tool });
    if (failure !== undefined) throw failure;
  }
}
