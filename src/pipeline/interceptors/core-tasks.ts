/**
 * Tasks of 2025-11-25 in what backends answer: the result that makes one, the task itself, and the result of its call.
 * The client sees its own ids and names.
 */
import { Failure } from '../../errors/failure.ts';
import type { CallOutcome } from '../../exchange/call.ts';
import type { ResultResponse } from '../../wire/message.ts';
import { createdTaskId, naming, taskIdIn, withCreatedTask, withTaskId } from '../../wire/tasks.ts';
import { textMember } from '../../wire/values.ts';
import type { RequestContext } from '../context.ts';
import type { SharedServices } from '../services.ts';
import { type Answered, filterOutcome } from './response-filter.ts';

type ResultOutcome = Answered & { kind: 'result' };

export function coreTaskOutcome(shared: SharedServices, context: RequestContext, outcome: Answered): CallOutcome {
  if (outcome.kind === 'error') return filterOutcome(shared, context, outcome);
  const message = context.row.action === 'task' ? shown(context, outcome.message) : created(shared, context, outcome);
  return filterOutcome(shared, context, { ...outcome, message });
}

/** A backend that runs no task after all has answered with the tool's own result. */
function created(shared: SharedServices, context: RequestContext, outcome: ResultOutcome): ResultResponse {
  const { message, progressToken } = outcome;
  const { endpoint, principal, resolved, call, session, exchange } = context;
  const own = createdTaskId(message);
  if (own === undefined) return resolved.renamed?.(message) ?? message;
  const { backend } = resolved;
  const tool = resolved.name ?? textMember(call.message.bytes, call.message.params, 'name') ?? '';
  const place = { endpoint: endpoint.path, principal: principal.key };
  const id = shared.taskIds().issue({ backend, id: own, tool }, place);
  if (id === undefined)
    throw new Failure('backend_invalid', { message: 'The backend gave a task an id that is too long' });
  session?.tasks.name(backend, own, id);
  if (exchange.token !== undefined && progressToken !== undefined)
    session?.tasks.follow(backend, progressToken, exchange.token);
  return withCreatedTask(message, id);
}

function shown({ request, row, resolved }: RequestContext, message: ResultResponse): ResultResponse {
  const id = taskIdIn(request) ?? '';
  if (row.method === 'tasks/result') return naming(resolved.renamed?.(message) ?? message, id);
  if (textMember(message.bytes, message.result, 'taskId') !== taskIdIn(resolved.message))
    throw new Failure('backend_invalid', { message: 'The backend answered with another task' });
  return withTaskId(message, id);
}
