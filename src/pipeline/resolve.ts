/** The resolve stage: finds the backend of a request, and what that backend calls the thing itself. */
import { asksToFind, findToolsRow } from '../budget/find-tools.ts';
import type { Reader } from '../catalog/list-reader.ts';
import { ModernReader, readerForSession } from '../catalog/readers.ts';
import type { ResolvedTarget } from '../catalog/resolved-target.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { unknownMethod } from './admit.ts';
import { demandToolScopes } from './check-scopes.ts';
import type { RequestContext } from './context.ts';
import { resolveTask } from './resolve-task.ts';
import type { StageServices } from './services.ts';

/**
 * Leaves `target` unset where the gateway answers for all backends together. Throws, or rejects with, a Failure where
 * no backend has the thing. Returns a promise only where lists have to be read first.
 */
export function resolve(services: StageServices, context: RequestContext): void | Promise<void> {
  const { endpoint, row, request, listen, era } = context;
  if (row.name === 'taskId') {
    resolveTask(services, context, readerOf(services, context));
    return;
  }
  const { nameResolver } = services.shared;
  const [backend] = endpoint.backends;
  if (endpoint.budget !== undefined && asksToFind(row, request)) {
    context.row = findToolsRow;
    return;
  }
  if (backend !== undefined && endpoint.backends.length === 1) {
    if (endpoint.budget !== undefined && row.list === 'tools') return;
    const alone = endpoint.overrides && nameResolver.findAlone(endpoint, row, request, readerOf(services, context));
    if (alone !== undefined) return settled(context, alone);
    if (row.method !== 'ping') context.target = { backend, message: listen?.authorization?.message ?? request };
    return;
  }
  if (row.method !== 'ping' && !nameResolver.isOffered(endpoint, row)) throw unknownMethod(request, era);
  if (isForAll(row)) return;
  return settled(context, nameResolver.find(endpoint, row, request, readerOf(services, context)));
}

function settled(context: RequestContext, target: ResolvedTarget | Promise<ResolvedTarget>): void | Promise<void> {
  if (target instanceof Promise) return target.then((found) => settled(context, found));
  demandToolScopes(context, target);
  context.target = target;
}

/** Whether the gateway answers the method for all backends of a merged endpoint together. */
function isForAll(row: MethodRow): boolean {
  return row.ours === true || row.longLived === true || row.list !== undefined || row === setLevel;
}

const setLevel = methodRow('logging/setLevel');

/** Reads lists on behalf of the client: through its session's upstream sessions, where it has a session. */
export function readerOf({ shared, sessionUpstreams }: StageServices, context: RequestContext): Reader {
  const { session, principal, client, trace } = context;
  if (session === undefined) return new ModernReader(shared.upstreams, principal, client, trace);
  const hold: Reader['hold'] = (permit, backend, row) => sessionUpstreams.upstreamFor(session, backend, permit, row);
  return readerForSession(session, shared.upstreams, hold, principal, trace);
}
