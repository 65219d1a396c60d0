/**
 * Leave for `subscriptions/listen`, part by part: each resource is decided on its own, changes of a list are for those who may
 * have the list. What is denied is not honoured, and the acknowledgement says so; where all of it is, the request is denied.
 */
import { Failure } from '../../errors.ts';
import { filterOf, listKinds, readFilter } from '../../exchange/bridge/subscriptions.ts';
import type { Permit } from '../../policy/permit.ts';
import type { Thing } from '../../policy/question.ts';
import { spliceMessage } from '../../wire/compose.ts';
import type { Request } from '../../wire/message.ts';
import { type MethodRow, methodRow } from '../../wire/methods.ts';
import { skimMessage } from '../../wire/skim.ts';
import { member } from '../../wire/values.ts';
import type { Reader } from '../lists.ts';
import { isMerged, type Targets } from '../targets.ts';
import type { Wanted } from './clearance.ts';
import { Denied } from './refusals.ts';
import type { Grant } from './wish.ts';

export interface ListenGrant extends Grant {
  readonly permit: Permit;
  /** The request with what is left of its filter. */
  readonly message: Request;
}

interface Knowing {
  readonly targets: Targets;
}

/** Rejects with a Failure where nothing of it is allowed. */
export async function clearListen({ targets }: Knowing, wanted: Wanted, reader: () => Reader): Promise<ListenGrant> {
  const { leave, endpoint, message } = wanted;
  const filter = readFilter(message);
  if (filter === undefined) throw new Failure('invalid_params', { message: 'notifications must be a filter' });
  const merged = isMerged(endpoint);
  const backend = merged ? '' : (endpoint.backends[0] ?? '');
  const grants: Grant[] = [];
  let denial: Denied | undefined;
  const isGranted = (row: MethodRow, of: string, thing?: Thing): boolean => {
    try {
      grants.push(leave.ask({ ...wanted, row, backend: of, thing }));
      return true;
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      denial ??= error;
      return false;
    }
  };
  const overAll: Grant['over'] = (ending) => {
    for (const grant of grants) grant.over?.(ending);
  };
  const isUri = async (uri: string): Promise<boolean> => {
    if (!merged) return isGranted(wanted.row, backend, { kind: 'resource', name: uri });
    const origin = await located(targets, wanted, uri, reader());
    if (origin === undefined) return false;
    return isGranted(wanted.row, origin.backend, await targets.thing(endpoint, 'resource', origin, reader()));
  };
  const left: Record<string, unknown> = { ...filterOf(filter) };
  for (const { flag, lists } of listKinds) {
    if (filter[flag] && !isGranted(methodRow(lists[0]) as MethodRow, backend)) delete left[flag];
  }
  const uris: string[] = [];
  for (const uri of filter.resourceSubscriptions) if (await isUri(uri)) uris.push(uri);
  if (Object.keys(filterOf(filter)).length === 0) isGranted(wanted.row, backend);
  const [first] = grants;
  const isLimited = denial?.reason === 'rate_limited';
  if (denial !== undefined && (first === undefined || isLimited)) {
    overAll({ outcome: 'cancelled', reason: denial.reason });
    throw denial;
  }
  const permit = first?.permit ?? leave.ask({ ...wanted, backend }).permit;
  if (uris.length === filter.resourceSubscriptions.length && denial === undefined)
    return { permit, leave, message, over: overAll };
  delete left.resourceSubscriptions;
  if (uris.length > 0) left.resourceSubscriptions = uris;
  return { permit, leave, message: withFilter(message, left), over: overAll };
}

async function located(targets: Targets, { endpoint }: Wanted, uri: string, reader: Reader) {
  try {
    return await targets.locate(endpoint, uri, reader);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function withFilter(message: Request, filter: object): Request {
  const span = member(message.params, 'notifications');
  if (span === undefined) return message;
  return skimMessage(spliceMessage(message, [{ span, with: JSON.stringify(filter) }])) as Request;
}
