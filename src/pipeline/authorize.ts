/**
 * The authorize stage: decides about one request, once its backend is known. Rules name things as the endpoint lists
 * them, so the decision is about that name, whatever spelling the client used.
 */
import type { Reader } from '../catalog/list-reader.ts';
import type { Lists } from '../catalog/lists.ts';
import { isMerged, type NameResolver, type ResolvedTarget } from '../catalog/name-resolver.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { type Authorization, type AuthorizationRequest, namedThing } from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Thing } from '../policy/question.ts';
import { Denied } from '../policy/refusals.ts';
import type { MethodRow } from '../wire/methods.ts';
import { isObject, valueAt } from '../wire/values.ts';
import type { RequestContext } from './context.ts';
import type { CurrentGeneration } from './generation.ts';

interface AuthorizeServices {
  readonly currentGeneration: CurrentGeneration;
  readonly lists: Lists;
  readonly nameResolver: NameResolver;
}

/** The rules and the endpoint of one generation. */
interface InGeneration {
  readonly authorizer: Authorizer;
  readonly endpoint: Endpoint;
}

/**
 * Throws, or rejects with, a Failure where the request is denied. Returns a promise only where lists have to be read
 * first.
 */
export function authorize(
  services: AuthorizeServices,
  context: RequestContext,
  target: Pick<ResolvedTarget, 'backend' | 'name'>,
  reader: () => Reader,
): Authorization | Promise<Authorization> {
  return authorizeIn(context, services, context, target, reader);
}

function authorizeIn(
  generation: InGeneration,
  services: AuthorizeServices,
  context: RequestContext,
  target: Pick<ResolvedTarget, 'backend' | 'name'>,
  reader: () => Reader,
): Authorization | Promise<Authorization> {
  const { authorizer, endpoint } = generation;
  const { row, request, principal } = context;
  const { backend } = target;
  const again = (): Authorization | Promise<Authorization> =>
    authorizeIn(inCurrent(services, generation, backend), services, context, target, reader);
  if (authorizer.isFree(endpoint)) {
    const free = authorizer.free({ principal, row, endpoint }, backend);
    // A later round may come under a config that has rules.
    return row.mayAsk === true ? { ...free, again } : free;
  }
  const named = namedThing(row, request);
  const own = target.name ?? named?.name ?? '';
  const thing =
    named === undefined || !isMerged(endpoint)
      ? named && { ...named, name: own }
      : services.nameResolver.thing(endpoint, named.kind, { backend, name: own }, reader());
  const decide = (asked: AuthorizationRequest): Authorization => {
    const { permit, over } = authorizer.ask(asked);
    return { permit, authorizer, over, again };
  };
  const ask = (found: Thing | undefined): Authorization | Promise<Authorization> => {
    const asked = { ...asAuthorizationRequest(context, row, backend, found), endpoint };
    if (found === undefined || !authorizer.readsAnnotations(backend, row)) return decide(asked);
    return annotationsOf(services, backend, own, reader()).then((annotations) =>
      decide({ ...asked, annotations: () => annotations }),
    );
  };
  return thing instanceof Promise ? thing.then(ask) : ask(thing);
}

/** The request, in the form that policy decides about. */
export function asAuthorizationRequest(
  { principal, endpoint, client, request }: RequestContext,
  row: MethodRow,
  backend: string,
  thing?: Thing,
): AuthorizationRequest {
  return { principal, endpoint, row, backend, revision: client.revision, message: request, thing };
}

/** Rules and endpoint of the current generation, for a later round of the same call. */
function inCurrent({ currentGeneration }: AuthorizeServices, before: InGeneration, backend: string): InGeneration {
  const { authorizer, endpoints } = currentGeneration.now;
  if (authorizer === before.authorizer) return before;
  const endpoint = endpoints.get(before.endpoint.path);
  if (endpoint?.backends.includes(backend) !== true) throw new Failure('backend_unavailable');
  return { authorizer, endpoint };
}

/**
 * Throws only failures that need an HTTP status, because the status must be known before the response begins. Every
 * other failure is reported through the exchange.
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

/** The request was allowed, and is not executed after all. */
export function abandonAuthorization(authorizing: Authorization | Promise<Authorization> | undefined): void {
  const over = (authorization: Authorization) => authorization.over?.({ outcome: 'cancelled' });
  if (authorizing instanceof Promise) authorizing.then(over, () => undefined);
  else if (authorizing !== undefined) over(authorizing);
}

/** The tool's annotations in the backend's latest list; undefined where there are none. */
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

/** Continues synchronously where the value is there already, as it mostly is. */
export function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
