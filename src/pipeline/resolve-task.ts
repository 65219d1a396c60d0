/** The resolve stage for requests about a task: opens the id that the client was given. */
import type { Reader } from '../catalog/list-reader.ts';
import type { ResolvedTarget } from '../catalog/resolved-target.ts';
import { Failure } from '../errors/failure.ts';
import { withParam } from '../subscriptions/notifications.ts';
import type { TaskOrigin } from '../tasks/task-id.ts';
import type { ClientCapabilities } from '../wire/capabilities.ts';
import { declaresExtension } from '../wire/declared-extensions.ts';
import { extensionRow } from '../wire/extensions.ts';
import { textMember } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import { demandToolScopes } from './check-scopes.ts';
import type { RequestContext } from './context.ts';
import type { SharedServices, StageServices } from './services.ts';

/** Throws a Failure where the client may not ask about tasks, or the id is none of this principal's. */
export function resolveTask(services: StageServices, context: RequestContext, reader: Reader): void {
  const { endpoint, row, request, era, client } = context;
  if (!services.shared.nameResolver.isOffered(endpoint, row)) throw unknownMethod(request, era);
  if (era === 'legacy' && !runsCoreTasks(services.shared, context)) throw new Failure('tasks_not_supported');
  // Before the id: a client that may not use the method does not learn which ids are valid.
  if (era === 'modern') demandExtension(client.capabilities, row.extension);
  const taskId = textMember(request.bytes, request.params, 'taskId');
  const origin = taskId === undefined ? undefined : openTask(services.shared, context, taskId);
  if (taskId === undefined || origin === undefined) throw new Failure('unknown_task');
  context.session?.tasks.name(origin.backend, origin.id, taskId);
  const target = targetOf(services, context, origin, reader);
  demandToolScopes(context, target);
  context.target = target;
}

/** Throws where the extension is used in requests that declare it, and this one does not. */
export function demandExtension({ raw }: ClientCapabilities, id: string | undefined): void {
  if (id === undefined || extensionRow(id)?.declaredByClients !== true || declaresExtension(raw, id)) return;
  throw new Failure('missing_capability', { data: { requiredCapabilities: { extensions: { [id]: {} } } } });
}

/** Whether tasks of 2025-11-25 may be there: a backend that was not reached yet may run them. */
function runsCoreTasks({ currentGeneration }: SharedServices, { endpoint, principal }: RequestContext): boolean {
  const { backends } = currentGeneration.now;
  return endpoint.backends.some((name) => {
    const discovery = backends.of(name, principal)?.lastDiscovery;
    return discovery === undefined || discovery.coreTasks !== undefined;
  });
}

/** The task of an id, where it was given to this principal at this endpoint, and its backend is still there. */
export function openTask(
  { taskIds }: Pick<SharedServices, 'taskIds'>,
  { endpoint, principal }: Pick<RequestContext, 'endpoint' | 'principal'>,
  taskId: string,
): TaskOrigin | undefined {
  const origin = taskIds().open(taskId, { endpoint: endpoint.path, principal: principal.key });
  return origin !== undefined && endpoint.backends.includes(origin.backend) ? origin : undefined;
}

function targetOf(
  services: StageServices,
  context: RequestContext,
  origin: TaskOrigin,
  reader: Reader,
): ResolvedTarget {
  const { endpoint, request } = context;
  const { backend, tool: name, id } = origin;
  const message = withParam(request, 'taskId', id);
  return services.shared.nameResolver.ofTask(endpoint, { backend, name }, message, reader);
}
