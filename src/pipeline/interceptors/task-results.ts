/**
 * Tasks in what backends answer: the result that makes one, and the answers to requests about one. The client sees its
 * own ids and names; server requests that the backend may not make are answered here.
 * https://github.com/modelcontextprotocol/ext-tasks
 */
import { errorCode } from '../../bridge/era-translation.ts';
import { Failure } from '../../errors/failure.ts';
import type { CallOutcome } from '../../exchange/call.ts';
import { onFulfilled } from '../../exchange/on-fulfilled.ts';
import { callOnce, ownRequest } from '../../exchange/own-call.ts';
import { acknowledgement, createdTask, type DeniedInput, ownTaskId, shownTask } from '../../tasks/task-message.ts';
import type { ResultResponse } from '../../wire/message.ts';
import { taskIdIn, withoutOwnId, withoutRelatedTask } from '../../wire/tasks.ts';
import { textMember } from '../../wire/values.ts';
import type { RequestContext } from '../context.ts';
import type { SharedServices } from '../services.ts';
import { coreTaskOutcome } from './core-tasks.ts';
import { type Answered, asOfNow, refusedAsk } from './response-filter.ts';

const INVALID_PARAMS = -32602;

export function taskOutcome(shared: SharedServices, context: RequestContext, answered: Answered): CallOutcome {
  try {
    const outcome = answered.kind === 'error' ? underClientsId(context, answered) : answered;
    if (outcome.vocabulary !== 'modern') return coreTaskOutcome(shared, context, outcome);
    if (outcome.kind === 'error') return isUnknown(context, outcome) ? failed(new Failure('unknown_task')) : outcome;
    // The design before this one named the task in every answer about it.
    const message = withoutRelatedTask(outcome.message);
    if (context.row.action !== 'task') return { ...outcome, message: created(shared, context, message) };
    if (context.row.method !== 'tasks/get') return { ...outcome, message: acknowledgement(message) };
    return { ...outcome, message: shown(shared, context, message) };
  } catch (error) {
    // A result that cannot be checked is not passed on.
    return failed(error instanceof Failure ? error : new Failure('internal_error', { cause: error }));
  }
}

/** The backend's text may have its own id of the task in it. */
function underClientsId({ request, row, resolved }: RequestContext, outcome: Answered & { kind: 'error' }): Answered {
  if (row.action !== 'task') return outcome;
  const message = withoutOwnId(outcome.message, taskIdIn(resolved.message) ?? '', taskIdIn(request) ?? '');
  return { ...outcome, message };
}

function isUnknown({ row }: RequestContext, outcome: Answered & { kind: 'error' }): boolean {
  return row.action === 'task' && row.method !== 'tasks/update' && errorCode(outcome.message) === INVALID_PARAMS;
}

function failed(failure: Failure): CallOutcome {
  return { kind: 'failure', failure };
}

function created(shared: SharedServices, context: RequestContext, message: ResultResponse): ResultResponse {
  const { endpoint, principal, resolved, call } = context;
  const { backend } = resolved;
  const tool = resolved.name ?? textMember(call.message.bytes, call.message.params, 'name') ?? '';
  const id = ownTaskId(message.bytes, message.result);
  const place = { endpoint: endpoint.path, principal: principal.key };
  const taskId = shared.taskIds().issue({ backend, id, tool }, place);
  if (taskId !== undefined) return createdTask(message, taskId);
  throw new Failure('backend_invalid', { message: 'The backend gave a task an id that is too long' });
}

function shown(shared: SharedServices, context: RequestContext, message: ResultResponse): ResultResponse {
  const { request, resolved, call } = context;
  const id = textMember(call.message.bytes, call.message.params, 'taskId') ?? '';
  if (ownTaskId(message.bytes, message.result) !== id)
    throw new Failure('backend_invalid', { message: 'The backend answered with another task' });
  const now = asOfNow(shared, context);
  const { message: told, denied } = shownTask(message, {
    taskId: textMember(request.bytes, request.params, 'taskId') ?? '',
    renamed: (result) => withoutRelatedTask(resolved.renamed?.(result) ?? result),
    mayAsk: (ask) => refusedAsk(now, ask) === undefined,
  });
  if (denied.length > 0) refuse(shared, context, id, denied);
  return told;
}

/**
 * The backend waits for an answer that no client will give. An elicitation is cancelled in the client's place; without
 * a sampled message or the roots the task cannot go on.
 */
function refuse(shared: SharedServices, context: RequestContext, taskId: string, denied: readonly DeniedInput[]): void {
  const { authorization, resolved, principal, client, row } = context;
  const { permit } = authorization;
  const canGoOn = denied.every(({ method }) => method === 'elicitation/create');
  const inputResponses = Object.fromEntries(denied.map(({ key }) => [key, { action: 'cancel' }]));
  const request = canGoOn
    ? ownRequest('tasks/update', { taskId, inputResponses }, client)
    : ownRequest('tasks/cancel', { taskId }, client);
  const tell = async () => {
    const upstream = await shared.upstreams.forModern(permit, resolved.backend, principal, client, row);
    try {
      await callOnce((sink) => upstream.call(permit, request, sink));
    } finally {
      upstream.release?.();
    }
  };
  // A next poll finds the question again where this did not arrive.
  onFulfilled(tell(), () => undefined);
}
