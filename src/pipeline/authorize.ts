/**
 * Leave for one request, once it is known which backend it is for. Rules speak of things by the names that the endpoint lists
 * them by: whatever the client typed, it is that name which is decided on.
 */

import type { StartCall } from '../bridge/responder.ts';
import type { Reader } from '../catalog/list-reader.ts';
import type { Lists } from '../catalog/lists.ts';
import { isMerged, type NameResolver, type ResolvedTarget } from '../catalog/name-resolver.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { LateCall } from '../exchange/late-call.ts';
import type { Principal } from '../identity/principal.ts';
import { type Authorization, type AuthorizationRequest, namedThing } from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Thing } from '../policy/question.ts';
import { Denied } from '../policy/refusals.ts';
import type { Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { isObject, valueAt } from '../wire/values.ts';
import type { CurrentGeneration } from './generation.ts';

export interface Wanted {
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  /** Of the same generation as the endpoint. */
  readonly authorizer: Authorizer;
  readonly row: MethodRow;
  /** As the client sent it. */
  readonly message: Request;
  readonly revision: string;
}

interface AuthorizeServices {
  readonly currentGeneration: CurrentGeneration;
  readonly lists: Lists;
  readonly nameResolver: NameResolver;
}

/** Throws, or rejects with, a Failure where it is a no. A promise only where lists have to be read first. */
export function authorize(
  knowing: AuthorizeServices,
  wanted: Wanted,
  target: Pick<ResolvedTarget, 'backend' | 'name'>,
  reader: () => Reader,
): Authorization | Promise<Authorization> {
  const { nameResolver } = knowing;
  const { authorizer, endpoint, row, message } = wanted;
  if (authorizer.isFree(endpoint)) return authorizer.free(wanted, target.backend);
  const named = namedThing(row, message);
  const own = target.name ?? named?.name ?? '';
  const thing =
    named === undefined || !isMerged(endpoint)
      ? named && { ...named, name: own }
      : nameResolver.thing(endpoint, named.kind, { backend: target.backend, name: own }, reader());
  const ask = (found: Thing | undefined): Authorization | Promise<Authorization> => {
    if (found === undefined || !authorizer.readsAnnotations(target.backend, row))
      return granted(wishOf(wanted, target.backend, found));
    return annotationsOf(knowing, target.backend, own, reader()).then((annotations) =>
      granted({ ...wishOf(wanted, target.backend, found), annotations: () => annotations }),
    );
  };
  const again = (): Authorization | Promise<Authorization> =>
    authorize(knowing, asOfNow(knowing, wanted, target.backend), target, reader);
  const granted = (whole: AuthorizationRequest): Authorization => {
    const { permit, over } = authorizer.ask(whole);
    return { permit, authorizer, over, again };
  };
  return thing instanceof Promise ? thing.then(ask) : ask(thing);
}

function wishOf(
  { principal, endpoint, row, message, revision }: Wanted,
  backend: string,
  thing: Thing | undefined,
): AuthorizationRequest {
  return { principal, endpoint, row, backend, revision, message, thing };
}

/** The same wish under what is in force by then. */
function asOfNow({ currentGeneration }: AuthorizeServices, wanted: Wanted, backend: string): Wanted {
  const { authorizer, endpoints } = currentGeneration.now;
  if (authorizer === wanted.authorizer) return wanted;
  const endpoint = endpoints.get(wanted.endpoint.path);
  if (endpoint?.backends.includes(backend) !== true) throw new Failure('backend_unavailable');
  return { ...wanted, authorizer, endpoint };
}

/**
 * Throws only what HTTP itself has to say, which must be said before the answer is begun. Whatever else goes wrong is told in
 * the exchange, like everything that goes wrong there.
 */
export function attemptEarly<T>(ask: () => T | Promise<T>): T | Promise<T> {
  try {
    return ask();
  } catch (error) {
    if (isToldByStatus(error)) throw error;
    const rejected = Promise.reject<T>(error);
    rejected.catch(() => undefined);
    return rejected;
  }
}

export function isToldByStatus(error: unknown): boolean {
  return error instanceof Denied && (error.http?.status ?? error.row.status) !== 200;
}

/** What was allowed is not done after all. */
export function abandonAuthorization(granting: Authorization | Promise<Authorization> | undefined): void {
  const over = (authorization: Authorization) => authorization.over?.({ outcome: 'cancelled' });
  if (granting instanceof Promise) granting.then(over, () => undefined);
  else if (granting !== undefined) over(granting);
}

/** What the backend says of the tool in the list that it gave last; a backend that gives none says nothing. */
async function annotationsOf(
  { lists }: AuthorizeServices,
  backend: string,
  own: string,
  reader: Reader,
): Promise<unknown> {
  const entry = (await lists.parts.entriesOf(backend, reader)).find(({ key }) => key === own);
  const value = entry && valueAt(entry.bytes, { start: 0, end: entry.bytes.byteLength });
  return isObject(value) ? value.annotations : undefined;
}

/** At once where that is possible: most things are known already. */
export function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The rounds of a call that the gateway drives itself: each later one is decided, and recorded, on its own. */
export function eachRoundAnew(
  exchange: Exchange,
  first: Authorization,
  starter: (authorization: Authorization) => StartCall,
): StartCall {
  let authorization = first;
  return (next, sink) => {
    const isLater = next.round !== undefined || next.again === true;
    if (!isLater || authorization.again === undefined) return starter(authorization)(next, sink);
    authorization.over?.({ outcome: 'asked' });
    exchange.watch(undefined);
    const begin = (granted: Authorization) => {
      authorization = granted;
      exchange.watch(granted.over);
      return starter(granted)(next, sink);
    };
    const nothing = ({ over }: Authorization) => over?.({ outcome: 'cancelled' });
    // A value becomes a promise: what it is decided by is of this moment all the same.
    return LateCall.after(askAgain(authorization.again), sink, begin, nothing);
  };
}

async function askAgain(again: NonNullable<Authorization['again']>): Promise<Authorization> {
  return again();
}
