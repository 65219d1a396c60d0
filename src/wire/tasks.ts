/**
 * Tasks of 2025-11-25, where the core defines them: who runs them, and where messages name them.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
import { concat, rewrite, spliceMessage } from './compose.ts';
import type { ErrorResponse, Message, Notification, ObjectSpan, Request, ResultResponse, Span } from './message.ts';
import type { Revision } from './revisions.ts';
import { elementsAt, membersAt, skimMessage } from './skim.ts';
import { asBuffer, isObject, member, slice, textMember, valueAt } from './values.ts';

const REVISION: Revision = '2025-11-25';
const RELATED = 'io.modelcontextprotocol/related-task';

export const taskStatus = 'notifications/tasks/status';

/** What a peer declared, and the revision that it was agreed on in. */
interface TaskPeer {
  readonly revision: Revision;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** Whether a client of this revision can ask for tasks. No other revision has them in its core. */
export function hasCoreTasks(revision: Revision): boolean {
  return revision === REVISION;
}

/** Whether calls of a backend's tools can be made as tasks. */
export function runsTasks({ revision, capabilities }: TaskPeer): boolean {
  return hasCoreTasks(revision) && isDeclared(capabilities, 'tasks', 'requests', 'tools', 'call');
}

export function cancelsTasks({ capabilities }: Pick<TaskPeer, 'capabilities'>): boolean {
  return isDeclared(capabilities, 'tasks', 'cancel');
}

/**
 * What is declared to clients for backends that run tasks; undefined where none does. Lists of tasks are not declared:
 * the gateway keeps none, and the list of a backend may have tasks of other principals.
 */
export function offeredTasks(backends: readonly TaskPeer[]): Readonly<Record<string, unknown>> | undefined {
  const running = backends.filter(runsTasks);
  if (running.length === 0) return undefined;
  return { ...(running.every(cancelsTasks) && { cancel: {} }), requests: { tools: { call: {} } } };
}

function isDeclared(capabilities: TaskPeer['capabilities'], ...path: readonly string[]): boolean {
  let value: unknown = capabilities;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return false;
    value = value[key];
  }
  return isObject(value);
}

/** The id of the task that a call was answered with; undefined where it was answered with something else. */
export function createdTaskId({ bytes, result }: ResultResponse): string | undefined {
  const task = member(result, 'task');
  return task && textMember(bytes, membersAt(bytes, task), 'taskId');
}

/** The same answer with another id of its task. */
export function withCreatedTask(message: ResultResponse, id: string): ResultResponse {
  const { bytes, result } = message;
  const task = member(result, 'task');
  const members = task && membersAt(bytes, task);
  if (members === undefined) return message;
  const renamed = rewrite(bytes, members, { set: { taskId: JSON.stringify(id) } });
  return withRelatedTask(withBodyOf(message, result, { task: renamed }), id);
}

/** What the entry of a tool says of tasks: `forbidden`, `optional` or `required`. */
export function taskSupport(tool: Uint8Array): string | undefined {
  const execution = member(membersAt(tool, { start: 0, end: tool.byteLength }), 'execution');
  return execution && textMember(tool, membersAt(tool, execution), 'taskSupport');
}

/** The entry of a tool without `execution`: for clients that cannot make its calls as tasks. */
export function withoutExecution(tool: Uint8Array): Uint8Array {
  if (asBuffer(tool).indexOf('"execution"') === -1) return tool;
  const object = membersAt(tool, { start: 0, end: tool.byteLength });
  if (member(object, 'execution') === undefined || object === undefined) return tool;
  return rewrite(tool, object, { drop: (key) => key === 'execution' });
}

/** The same for a list of tools. */
export function withoutExecutions(message: ResultResponse): ResultResponse {
  const { bytes, result } = message;
  const tools = asBuffer(bytes).indexOf('"execution"') === -1 ? undefined : member(result, 'tools');
  const entries = tools && elementsAt(bytes, tools)?.map((entry) => slice(bytes, entry));
  if (entries === undefined) return message;
  const kept = entries.map(withoutExecution);
  if (kept.every((entry, at) => entry === entries[at])) return message;
  const joined = concat(['[', ...kept.flatMap((entry, at) => (at === 0 ? [entry] : [',', entry])), ']']);
  return withBodyOf(message, result, { tools: joined });
}

/** A task itself, as the result of `tasks/get` and `tasks/cancel`, under another id. */
export function withTaskId(message: ResultResponse, id: string): ResultResponse {
  return withRelatedTask(withBodyOf(message, message.result, { taskId: JSON.stringify(id) }), id);
}

/** `notifications/tasks/status` under another id. */
export function statusOf(notification: Notification, id: string): Notification {
  const { params } = notification;
  if (params === undefined) return notification;
  return withRelatedTask(withBodyOf(notification, params, { taskId: JSON.stringify(id) }), id);
}

/** Longer texts of errors are cut where an id is replaced in them: a short id may occur at every letter. */
const ERROR_CHARACTERS = 4_096;
/** More data is not searched for an id, and left out. */
const ERROR_DATA_BYTES = 64 * 1024;

/** An error under another id of the task that it names. Data with the backend's id is left out. */
export function withoutOwnId(message: ErrorResponse, own: string, id: string): ErrorResponse {
  const { bytes, error } = message;
  if (own === '') return message;
  const text = textMember(bytes, error, 'message') ?? '';
  const data = member(error, 'data');
  const isInData = data !== undefined && mayName(bytes, data, own);
  if (!isInData && !text.includes(own)) return message;
  const shown = text.includes(own) ? text.slice(0, ERROR_CHARACTERS).replaceAll(own, () => id) : text;
  const set = { message: JSON.stringify(shown) };
  return reread(message, error, rewrite(bytes, error, { set, drop: (key) => key === 'data' && isInData }));
}

function mayName(bytes: Uint8Array, data: Span, own: string): boolean {
  if (data.end - data.start > ERROR_DATA_BYTES) return true;
  return JSON.stringify(valueAt(bytes, data)).includes(JSON.stringify(own).slice(1, -1));
}

export function taskIdIn({ bytes, params }: Pick<Notification, 'bytes' | 'params'>): string | undefined {
  return textMember(bytes, params, 'taskId');
}

type WithMeta = Request | Notification | ResultResponse;

/** The task that a message belongs to, by its `_meta`. */
export function relatedTask({ bytes, meta }: Pick<WithMeta, 'bytes' | 'meta'>): string | undefined {
  const related = member(meta, RELATED);
  return related && textMember(bytes, membersAt(bytes, related), 'taskId');
}

export function hasRelatedTask({ meta }: Pick<WithMeta, 'meta'>): boolean {
  return member(meta, RELATED) !== undefined;
}

/** Whether a message of a backend is about a task, or belongs to one. */
export function isOfTask(message: Request | Notification): boolean {
  return hasRelatedTask(message) || message.method === taskStatus;
}

/** The message under another id of the task that it names; unchanged where it names none. */
export function withRelatedTask<M extends WithMeta>(message: M, id: string): M {
  return hasRelatedTask(message) ? naming(message, id) : message;
}

/** A result that names its task, whether or not the backend named it. */
export function naming<M extends WithMeta>(message: M, id: string): M {
  const related = JSON.stringify({ taskId: id });
  const { bytes, meta } = message;
  const body = bodyOf(message);
  if (body === undefined) return message;
  const members = { [RELATED]: related };
  const named = meta === undefined ? `{${JSON.stringify(RELATED)}:${related}}` : rewrite(bytes, meta, { set: members });
  return withBodyOf(message, body, { _meta: named });
}

/** The message without the task that it belongs to: for clients that know of none. */
export function withoutRelatedTask<M extends WithMeta>(message: M): M {
  const { bytes, meta } = message;
  const body = bodyOf(message);
  if (meta === undefined || body === undefined || !hasRelatedTask(message)) return message;
  const isAlone = meta.members.every(({ key }) => key === RELATED);
  if (isAlone) return reread(message, body, rewrite(bytes, body, { drop: (key) => key === '_meta' }));
  return withBodyOf(message, body, { _meta: rewrite(bytes, meta, { drop: (key) => key === RELATED }) });
}

function bodyOf(message: WithMeta): ObjectSpan | undefined {
  return message.kind === 'result' ? message.result : message.params;
}

function withBodyOf<M extends Message>(
  message: M,
  body: ObjectSpan,
  set: Readonly<Record<string, string | Uint8Array>>,
): M {
  return reread(message, body, rewrite(message.bytes, body, { set }));
}

function reread<M extends Message>(message: M, body: ObjectSpan, written: Uint8Array): M {
  return skimMessage(spliceMessage(message, [{ span: body, with: written }])) as M;
}
