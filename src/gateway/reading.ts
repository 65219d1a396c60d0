/** Through whose eyes the lists of many backends are read, and how a modern backend is called on behalf of somebody. */
import type { Shelf } from '../catalog/shelf.ts';
import { Failure } from '../errors.ts';
import { canonical } from '../exchange/bridge/canonical.ts';
import { changedList, listKinds } from '../exchange/bridge/subscriptions.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from '../exchange/call.ts';
import { nowhere } from '../exchange/downstream.ts';
import type { HearPooled, HeldLane, Lanes } from '../exchange/lanes.ts';
import type { Session } from '../exchange/session.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Reader } from './lists.ts';

/** A client without a session sees what its principal sees; at legacy backends also what it declares counts. */
export function readerFor(lanes: Lanes, principal: Principal, client: ClientFacts): Reader {
  return {
    principal,
    prefers: 'modern',
    owner: (era) => (era === 'modern' ? principalOwner(principal) : poolOwner(principal, client)),
    hold: (permit, backend, row) => lanes.forModern(permit, backend, principal, client, row),
  };
}

/** What a legacy backend shows belongs to the session that it is shown in. A client of one message has none of its own. */
export function readerForSession(
  session: Session,
  hold: (permit: Permit, backend: string, row: MethodRow) => Promise<HeldLane>,
  principal: Principal = session.principal,
): Reader {
  const own = session.downstream === nowhere ? poolOwner(session.principal, session.client) : sessionOwner(session);
  return {
    principal,
    prefers: 'legacy',
    owner: (era) => (era === 'modern' ? principalOwner(session.principal) : own),
    hold,
  };
}

export function sessionOwner({ id }: Session): string {
  return JSON.stringify(['session', id]);
}

function poolOwner({ key }: Principal, { revision, capabilities }: ClientFacts): string {
  return JSON.stringify(['pool', key, revision, canonical(capabilities.raw)]);
}

/** What was read in a pooled session is good until that tells of a change, whether or not anybody listens, or is lost. */
export function outdating(shelf: Shelf): HearPooled {
  return (backend, principal, client, said) => {
    const kind = said && changedList(said.method);
    const kinds = said === undefined ? listKinds : kind === undefined ? [] : [kind];
    for (const { lists } of kinds) {
      for (const method of lists) shelf.changed({ backend, method }, poolOwner(principal, client));
    }
  };
}

function principalOwner({ key }: Principal): string {
  return `principal ${key}`;
}

export function startStateless(
  lanes: Lanes,
  backend: string,
  permit: Permit,
  request: CallRequest,
  sink: CallSink,
): Call {
  const lane = lanes.stateless(backend);
  if (lane !== undefined) return lane.call(permit, request, sink);
  sink.settle({ kind: 'failure', failure: new Failure('backend_unavailable') });
  return { cancel: () => undefined };
}
