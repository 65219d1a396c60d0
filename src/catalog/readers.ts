/** The readers of lists for each era of clients, and calls to a modern backend on behalf of a principal. */

import { Failure } from '../errors/failure.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from '../exchange/call.ts';
import type { Trace } from '../exchange/trace.ts';
import type { UpstreamSession } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import { nowhere } from '../session/downstream.ts';
import type { Session } from '../session/session.ts';
import type { HearPooled } from '../upstream/pooled-sessions.ts';
import type { UpstreamLease, UpstreamPool } from '../upstream/upstream-pool.ts';
import { canonical } from '../wire/canonical.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { changedList, everyList } from '../wire/subscription-filter.ts';
import type { ListCache } from './list-cache.ts';
import { type ListDeclaration, listDeclaration } from './list-declaration.ts';
import type { Reader } from './list-reader.ts';

/**
 * A client without a session sees what its principal sees. For legacy backends its capabilities matter too. Created for
 * every request at a merged endpoint, and few need a list: so everything is computed on demand.
 */
export class ModernReader implements Reader {
  readonly prefers = 'modern';
  readonly principal: Principal;
  readonly trace: Trace | undefined;
  readonly #upstreams: UpstreamPool;
  readonly #client: ClientFacts;
  #pool: string | undefined;

  constructor(upstreams: UpstreamPool, principal: Principal, client: ClientFacts, trace?: Trace) {
    this.trace = trace;
    this.principal = principal;
    this.#upstreams = upstreams;
    this.#client = client;
  }

  get declaration(): ListDeclaration {
    return listDeclaration(this.#client);
  }

  owner(era: Era): string {
    if (era === 'modern') return principalOwner(this.principal);
    this.#pool ??= poolOwner(this.principal, this.#client);
    return this.#pool;
  }

  hold(permit: Permit, backend: string, row: MethodRow): Promise<UpstreamLease> {
    return this.#upstreams.forModern(permit, backend, this.principal, this.#client, row);
  }
}

/**
 * A legacy backend's lists belong to the session that reads them. A client of a single message has no session of its
 * own.
 */
export function readerForSession(
  session: Session,
  upstreams: UpstreamPool,
  hold: (permit: Permit, backend: string, row: MethodRow) => Promise<UpstreamLease>,
  principal: Principal = session.principal,
  trace?: Trace,
): Reader {
  const own = session.downstream === nowhere ? poolOwner(session.principal, session.client) : sessionOwner(session);
  return {
    principal,
    trace,
    prefers: 'legacy',
    declaration: listDeclaration(session.client),
    owner: (era, backend) => {
      if (era === 'modern') return principalOwner(session.principal);
      const lists = session.downstream === nowhere ? undefined : upstreams.listsFor(session, backend);
      return lists === undefined ? own : listsOwner(lists.keyOf(session.client));
    },
    hold,
  };
}

/** The owner for sessions that share a process that serves lists. */
export function listsOwner(key: string): string {
  return `lists ${key}`;
}

export function sessionOwner({ id }: Session): string {
  return JSON.stringify(['session', id]);
}

function poolOwner({ key }: Principal, { revision, capabilities }: ClientFacts): string {
  return JSON.stringify(['pool', key, revision, canonical(capabilities.raw)]);
}

/**
 * A list read in a pooled session is fresh until that session announces a change or is lost, even if no client
 * subscribed.
 */
export function outdating(listCache: ListCache): HearPooled {
  return (backend, principal, client, said) => {
    const methods = said === undefined ? everyList : changedList(said.method)?.lists;
    if (methods !== undefined) listCache.changed(backend, methods, poolOwner(principal, client));
  };
}

function principalOwner({ key }: Principal): string {
  return `principal ${key}`;
}

/** A call on the shared upstream session of a modern backend, or a failure if there is none at the moment. */
export function callStateless(
  upstream: UpstreamSession | undefined,
  permit: Permit,
  request: CallRequest,
  sink: CallSink,
): Call {
  if (upstream !== undefined) return upstream.call(permit, request, sink);
  sink.settle({ kind: 'failure', failure: new Failure('backend_unavailable') });
  return { cancel: () => undefined };
}
