/**
 * The message in the question of a webhook: as the client spelled it, with the name under which the endpoint lists the
 * target, and without secrets. A client may know a second name for a tool; a webhook has to know one name only.
 */
import { renamed, targetOf } from '../catalog/requests.ts';
import type { AuthorizationRequest } from '../policy/authorization-request.ts';
import { rewrite, withBody } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import { methodRow } from '../wire/methods.ts';
import { withMember } from './json.ts';
import { shownArguments } from './shown-arguments.ts';

/** JSON text. */
export function messageFor(request: AuthorizationRequest): string {
  const { message, row } = request;
  const given = shownArguments(request);
  if (message?.kind !== 'request') return withMember({ jsonrpc: '2.0', method: row.method }, 'params', given);
  const named = withListedName(message, request);
  const { bytes, params, id } = named;
  const set = { ...(given !== undefined && { arguments: given }), ...listenedTo(request) };
  // What a client answers to a server request is never judged: that request was authorized before.
  const drop = (key: string) => key === 'inputResponses';
  return withBody(named, id.raw, params === undefined ? [] : [rewrite(bytes, params, { drop, set })]).toString('utf8');
}

function withListedName(message: Request, { thing }: AuthorizationRequest): Request {
  const row = methodRow(message.method);
  const target = row && targetOf(message, row);
  if (row === undefined || target === undefined || thing?.name === undefined) return message;
  return renamed(message, row, thing.name, target);
}

/** One request may listen to many resources. Each of them is a question of its own. */
function listenedTo({ row, thing }: AuthorizationRequest): Readonly<Record<string, string>> {
  if (row.method !== 'subscriptions/listen' || thing?.name === undefined) return {};
  return { notifications: JSON.stringify({ resourceSubscriptions: [thing.name] }) };
}
