/**
 * For tools that run only as tasks of the extension, where the client has no tasks. The backend refuses the call before
 * the tool runs, so the call is made again, with the extension declared, and the gateway polls. Legacy clients cannot
 * have the extension; modern ones get the refusal, unless their endpoint says `tasks: poll`.
 */
import { errorCode } from '../../bridge/era-translation.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../../exchange/call.ts';
import { LateCall } from '../../exchange/late-call.ts';
import { TaskPoll } from '../../tasks/task-poll.ts';
import { readCapabilities } from '../../wire/capabilities.ts';
import { extensionsIn } from '../../wire/declared-extensions.ts';
import { extensionOfResult, isCarried } from '../../wire/extensions.ts';
import type { ErrorResponse } from '../../wire/message.ts';
import { newest, type Revision, revisions } from '../../wire/revisions.ts';
import { isObject, member, valueAt } from '../../wire/values.ts';
import type { RequestContext } from '../context.ts';
import type { EraCalls } from './compose.ts';

const MISSING_CAPABILITY = -32021;
const tasks = extensionOfResult('task', 'tools/call') ?? '';
const modernRevision = newest(revisions, 'modern') as Revision;

export function needsPolling(
  { row, session, endpoint }: RequestContext,
  { message, vocabulary }: CallOutcome & { kind: 'error' },
): boolean {
  if (vocabulary !== 'modern' || row.method !== 'tools/call' || errorCode(message) !== MISSING_CAPABILITY) return false;
  if (session === undefined && endpoint.tasks !== 'poll') return false;
  return isCarried(tasks, modernRevision, endpoint.extensions) && lacksTasksAlone(message);
}

function lacksTasksAlone({ bytes, error }: ErrorResponse): boolean {
  const span = member(error, 'data');
  const data = span && valueAt(bytes, span);
  const required = isObject(data) && isObject(data.requiredCapabilities) ? data.requiredCapabilities : {};
  const ids = Object.keys(extensionsIn(required));
  return Object.keys(required).length === 1 && ids.length === 1 && ids[0] === tasks;
}

export function polledCall(calls: EraCalls, context: RequestContext, request: CallRequest, sink: CallSink): Call {
  const { clock, limits } = calls.shared;
  const { permit } = context.authorization;
  const { raw } = request.client.capabilities;
  const declared = readCapabilities({ ...raw, extensions: { ...extensionsIn(raw), [tasks]: {} } });
  const client = { ...request.client, capabilities: declared };
  return LateCall.after(
    calls.find(context, permit, request),
    sink,
    ({ upstream, request: found }) => {
      const start = (own: CallRequest, to: CallSink) => upstream.call(permit, own, to);
      return new TaskPoll({ clock, totalMs: limits.totalMs, start }, { ...found, client }, sink).begin();
    },
    ({ upstream }) => upstream.release?.(),
  );
}
