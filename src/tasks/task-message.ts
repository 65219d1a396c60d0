/**
 * What backends say of tasks, rewritten for the client: with its own id of the task, and with its names in the result.
 * Everything else stays byte for byte.
 */
import { readInputRequired } from '../bridge/input-required.ts';
import { Failure } from '../errors/failure.ts';
import type { ServerRequest } from '../exchange/call.ts';
import { ambiguousMember } from '../wire/ambiguity.ts';
import { type Raw, resultBytes, rewrite, spliceMessage } from '../wire/compose.ts';
import type { ObjectSpan, ResultResponse } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, slice, textMember } from '../wire/values.ts';

/** What depends on the status. A task that was just made has none of it, and clients look for it in `tasks/get`. */
const detail: ReadonlySet<string> = new Set(['result', 'error', 'inputRequests', 'requestState']);

/** The backend's id of the task. Throws where it has none, or readers may find different ones. */
export function ownTaskId(bytes: Uint8Array, object: ObjectSpan | undefined): string {
  const id = textMember(bytes, object, 'taskId');
  if (id === undefined || ambiguousMember(object, 'taskId') !== undefined)
    throw new Failure('backend_invalid', { message: 'The backend sent a task without a single id' });
  return id;
}

/** The result that makes a task, under the client's id. */
export function createdTask(message: ResultResponse, taskId: string): ResultResponse {
  const set = { taskId: JSON.stringify(taskId) };
  return withResult(message, rewrite(message.bytes, message.result, { set, drop: (key) => detail.has(key) }));
}

/** The answer of `tasks/update` and `tasks/cancel`, which says nothing of the task. */
export function acknowledgement(message: ResultResponse): ResultResponse {
  const isKept = (key: string) => key === 'resultType' || key === '_meta';
  if (message.result.members.every(({ key }) => isKept(key))) return message;
  return withResult(message, rewrite(message.bytes, message.result, { drop: (key) => !isKept(key) }));
}

/** A server request of a task that is not passed on. */
export interface DeniedInput {
  readonly key: string;
  readonly method: string;
}

export interface TaskView {
  readonly taskId: string;
  /** The tool's result, in the client's names. */
  renamed(result: ResultResponse): ResultResponse;
  mayAsk(ask: Pick<ServerRequest, 'row' | 'message'>): boolean;
}

export interface ShownTask {
  readonly message: ResultResponse;
  /** What the backend still waits for. */
  readonly denied: readonly DeniedInput[];
}

/** The answer of `tasks/get`. */
export function shownTask(message: ResultResponse, view: TaskView): ShownTask {
  const { set, denied } = shown(message.bytes, message.result, view);
  const members = { ...set, resultType: '"complete"' };
  const rewritten = rewrite(message.bytes, message.result, {
    set: members,
    drop: (key) => isDropped(key, denied, set),
  });
  return { message: withResult(message, rewritten), denied };
}

/** Neither the backend's own state, nor server requests of which none is left. */
function isDropped(key: string, denied: readonly DeniedInput[], set: Readonly<Record<string, Raw>>): boolean {
  return key === 'requestState' || (key === 'inputRequests' && denied.length > 0 && set.inputRequests === undefined);
}

function shown(bytes: Uint8Array, object: ObjectSpan, view: TaskView) {
  const set: Record<string, Raw> = { taskId: JSON.stringify(view.taskId) };
  const result = member(object, 'result');
  if (result !== undefined) {
    const alone = asResult(slice(bytes, result));
    const renamed = view.renamed(alone);
    if (renamed !== alone) set.result = slice(renamed.bytes, renamed.result);
  }
  const denied = inputsOf(bytes, object).filter((ask) => !view.mayAsk(ask));
  if (denied.length > 0) {
    const requests = member(object, 'inputRequests');
    const keys = new Set(denied.map(({ key }) => key));
    const all = requests && asResult(slice(bytes, requests));
    const left = all?.result.members.filter(({ key }) => !keys.has(key)) ?? [];
    // Nothing is open for the client: to it the task goes on.
    if (left.length === 0) set.status = '"working"';
    else if (all !== undefined) set.inputRequests = rewrite(all.bytes, all.result, { drop: (key) => keys.has(key) });
  }
  return { set, denied: denied.map(({ key, row: { method } }) => ({ key, method })) };
}

/** The server requests that are open. */
export function inputsOf(bytes: Uint8Array, object: ObjectSpan) {
  if (member(object, 'inputRequests') === undefined) return [];
  return readInputRequired({ kind: 'result', bytes, result: object } as ResultResponse).requests;
}

function asResult(object: Uint8Array): ResultResponse {
  const message = skimMessage(resultBytes('1', object));
  if (message.kind !== 'result') throw new Failure('backend_invalid');
  return message;
}

function withResult(message: ResultResponse, result: Raw): ResultResponse {
  const changed = skimMessage(spliceMessage(message, [{ span: message.result, with: result }]));
  if (changed.kind !== 'result') throw new Failure('backend_invalid');
  return changed;
}
