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
import type { Reader } from '../list-reading.ts';
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
export async function clearListen(knowing: Knowing, wanted: Wanted, reader: () => Reader): Promise<ListenGrant> {
  const grants = new Grants(wanted);
  try {
    return await decideParts(knowing, wanted, reader, grants);
  } catch (error) {
    // What was allowed before is not done after all.
    grants.over({ outcome: 'cancelled', ...(error instanceof Failure && { reason: error.reason }) });
    throw error;
  }
}

/** What was allowed of one request, part by part; all of it is over at once. */
class Grants {
  readonly #wanted: Wanted;
  readonly #grants: Grant[] = [];
  denial: Denied | undefined;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  get first(): Grant | undefined {
    return this.#grants[0];
  }

  ask(row: MethodRow, backend: string, thing?: Thing): boolean {
    try {
      this.#grants.push(this.#wanted.leave.ask({ ...this.#wanted, row, backend, thing }));
      return true;
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      this.denial ??= error;
      return false;
    }
  }

  readonly over: NonNullable<Grant['over']> = (ending) => {
    for (const grant of this.#grants.splice(0)) grant.over?.(ending);
  };
}

async function decideParts(
  { targets }: Knowing,
  wanted: Wanted,
  reader: () => Reader,
  grants: Grants,
): Promise<ListenGrant> {
  const { leave, endpoint, message } = wanted;
  const filter = readFilter(message);
  if (filter === undefined) throw new Failure('invalid_params', { message: 'notifications must be a filter' });
  const merged = isMerged(endpoint);
  const backend = merged ? '' : (endpoint.backends[0] ?? '');
  const isUri = async (uri: string): Promise<boolean> => {
    if (!merged) return grants.ask(wanted.row, backend, { kind: 'resource', name: uri });
    const origin = await located(targets, wanted, uri, reader());
    if (origin === undefined) return false;
    return grants.ask(wanted.row, origin.backend, await targets.thing(endpoint, 'resource', origin, reader()));
  };
  const left: Record<string, unknown> = { ...filterOf(filter) };
  for (const { flag, lists } of listKinds) {
    if (filter[flag] && !grants.ask(methodRow(lists[0]) as MethodRow, backend)) delete left[flag];
  }
  const uris: string[] = [];
  for (const uri of filter.resourceSubscriptions) if (await isUri(uri)) uris.push(uri);
  // It asks for nothing, or for nothing that anybody has: that it may ask at all is decided and recorded like everything.
  if (grants.first === undefined && grants.denial === undefined) grants.ask(wanted.row, backend);
  const { denial, first } = grants;
  if (denial !== undefined && (first === undefined || denial.reason === 'rate_limited')) throw denial;
  if (first === undefined) throw new Failure('internal_error', { cause: new Error('neither allowed nor denied') });
  const { permit } = first;
  const { over } = grants;
  if (uris.length === filter.resourceSubscriptions.length && denial === undefined)
    return { permit, leave, message, over };
  delete left.resourceSubscriptions;
  if (uris.length > 0) left.resourceSubscriptions = uris;
  return { permit, leave, message: withFilter(message, left), over };
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
