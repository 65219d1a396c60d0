/**
 * The authorize stage: decides about one request, once its backend is known. Rules name things as the endpoint lists
 * them, so the decision is about that name, whatever spelling the client used.
 */
import { ModernResponder } from '../bridge/modern-responder.ts';
import type { Reader } from '../catalog/list-reader.ts';
import type { Lists } from '../catalog/lists.ts';
import { isMerged } from '../catalog/name-resolver.ts';
import type { Origin } from '../catalog/names.ts';
import type { ResolvedTarget } from '../catalog/resolved-target.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { onFulfilled, whenKnown } from '../exchange/on-fulfilled.ts';
import {
  type Authorization,
  type AuthorizationRequest,
  argumentsAt,
  namedThing,
} from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Thing } from '../policy/question.ts';
import { Denied } from '../policy/refusals.ts';
import type { Message, Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import type { Revision } from '../wire/revisions.ts';
import { isObject, textMember, valueAt } from '../wire/values.ts';
import { heldByPins } from './check-pins.ts';
import type { RequestContext } from './context.ts';
import { askEveryone } from './decide-outside.ts';
import { readerOf } from './resolve.ts';
import type { SharedServices, StageServices } from './services.ts';

/** The rules and the endpoint of one generation. */
interface InGeneration {
  readonly authorizer: Authorizer;
  readonly endpoint: Endpoint;
}

/**
 * Throws, or rejects with, a Failure where the request is denied. Returns a promise only where lists have to be read
 * first, other processes have to be asked, or decision points.
 */
export function authorize(services: StageServices, context: RequestContext): void | Promise<void> {
  const { authorizer, endpoint, listen, target } = context;
  if (listen?.authorization !== undefined) context.authorization = listen.authorization;
  else if (target === undefined) return authorizeMessage(context);
  else if (authorizer.isFree(endpoint)) context.authorization = authorizer.free(context);
  else return authorizeTarget(services, context);
}

function authorizeMessage(context: RequestContext): void | Promise<void> {
  return whenKnown(authorizeForAll(context, context.row, context.client.revision, context.request), (authorization) => {
    context.authorization = authorization;
  });
}

function authorizeTarget(services: StageServices, context: RequestContext): void | Promise<void> {
  try {
    const authorization = authorizeIn(context, services, context);
    if (authorization instanceof Promise) return authorizeLater(services, context, authorization);
    context.authorization = authorization;
  } catch (error) {
    endDenied(services, context, error);
    throw error;
  }
}

async function authorizeLater(
  services: StageServices,
  context: RequestContext,
  authorization: Promise<Authorization>,
): Promise<void> {
  try {
    context.authorization = await authorization;
  } catch (error) {
    endDenied(services, context, error);
    throw error;
  }
}

/** The same request may be allowed a moment later. */
const passing: ReadonlySet<string> = new Set(['rate_limited', 'decision_unavailable']);

/** Each round of a modern client is authorized on its own. A denial ends the pending call that the round belongs to. */
function endDenied({ shared }: StageServices, context: RequestContext, error: unknown): void {
  if (error instanceof Denied && !passing.has(error.reason)) endPending(shared, context);
}

/** Authorizes a later round of the same call, by the rules of that moment. */
export function authorizeAgain(
  services: StageServices,
  context: RequestContext,
): Authorization | Promise<Authorization> {
  const { authorizer, endpoints } = services.shared.currentGeneration.now;
  if (authorizer === context.authorizer) return authorizeIn(context, services, context);
  const endpoint = endpoints.get(context.endpoint.path);
  if (endpoint?.backends.includes(context.resolved.backend) !== true) throw new Failure('backend_unavailable');
  return authorizeIn({ authorizer, endpoint }, services, context);
}

function authorizeIn(
  inGeneration: InGeneration,
  services: StageServices,
  context: RequestContext,
): Authorization | Promise<Authorization> {
  const { authorizer, endpoint } = inGeneration;
  const { row, request, resolved } = context;
  if (authorizer.isFree(endpoint)) return authorizer.free(context);
  const named = row.name === 'taskId' ? toolOf(resolved) : namedThing(row, request);
  const own = resolved.name ?? named?.name ?? '';
  const thing =
    named === undefined || !isMerged(endpoint)
      ? named && { kind: named.kind, name: own }
      : services.shared.nameResolver.thing(endpoint, named.kind, originOf(resolved, own), readerOf(services, context));
  return whenKnown(thing, (found) => ask(inGeneration, services, context, own, found));
}

/** A task is decided like the tool that made it. */
function toolOf({ name }: ResolvedTarget): Thing | undefined {
  return name === undefined ? undefined : { kind: 'tool', name };
}

/** `own` is the backend's own name for the thing. */
function ask(
  { authorizer, endpoint }: InGeneration,
  services: StageServices,
  context: RequestContext,
  own: string,
  thing: Thing | undefined,
): Authorization | Promise<Authorization> {
  const { row, resolved } = context;
  const { backend } = resolved;
  const asked = asAuthorizationRequest(context, row, backend, thing, endpoint);
  const { pins } = authorizer;
  const isAnnotated = authorizer.readsAnnotations(backend, row);
  if (thing === undefined || (!isAnnotated && pins === undefined)) return askEveryone(authorizer, asked);
  return askByLists(services, context, { authorizer, asked, thing, own, isAnnotated });
}

interface AskedByLists {
  readonly authorizer: Authorizer;
  readonly asked: AuthorizationRequest;
  readonly thing: Thing;
  readonly own: string;
  readonly isAnnotated: boolean;
}

/** The decision depends on what the backend lists: on annotations, or on pins. */
async function askByLists(
  services: StageServices,
  context: RequestContext,
  { authorizer, asked, thing, own, isAnnotated }: AskedByLists,
): Promise<Authorization> {
  const { lists } = services.shared;
  const { backend } = asked;
  const { pins } = authorizer;
  const reader = readerOf(services, context);
  const annotations = isAnnotated ? await annotationsOf(lists, backend, own, reader) : undefined;
  const held = pins && (await heldByPins({ pins, lists, reader, backend }, thing, own));
  return askEveryone(authorizer, { ...asked, ...(isAnnotated && { annotations: () => annotations }), held });
}

/** The first of a tool's names is the encoded one. */
function originOf({ backend, names }: ResolvedTarget, name: string): Origin {
  return { backend, name, encoded: names?.[0] };
}

/** For messages that concern all backends of the endpoint together. */
export function authorizeForAll(
  context: RequestContext,
  row: MethodRow,
  revision: Revision | undefined,
  message: Message,
): Authorization | Promise<Authorization> {
  const { principal, endpoint, authorizer } = context;
  const backend = onlyBackend(endpoint);
  return authorizer.ask({ principal, endpoint, row, backend, revision, message, sender: context });
}

/** A message that gets no response. */
export type OneWayMessage = Exclude<Message, Request>;

/**
 * Brings the row of a notification that is known and allowed. A response has no method that a rule could name: it
 * goes to the server request that waits for it, and nowhere else.
 */
export function authorizeOneWay(
  context: RequestContext,
  revision: Revision | undefined,
  message: OneWayMessage,
): MethodRow | undefined | Promise<MethodRow> {
  const row = message.kind === 'notification' ? methodRow(message.method) : undefined;
  if (row === undefined || row.kind !== 'notification' || row.from === 'server') return undefined;
  return whenKnown(authorizeForAll(context, row, revision, message), (authorization) => {
    authorization.over?.({ outcome: 'result' });
    return row;
  });
}

/** The request, in the form that policy decides about. */
export function asAuthorizationRequest(
  context: RequestContext,
  row: MethodRow,
  backend: string,
  thing?: Thing,
  endpoint: Endpoint = context.endpoint,
): AuthorizationRequest {
  const { principal, client, request, target } = context;
  const { revision } = client;
  const asked = { principal, endpoint, row, backend, revision, message: request, thing, sender: context };
  return target?.asked === undefined ? asked : { ...asked, argumentsAt: argumentsAt(target) };
}

/** The one backend behind an endpoint; empty where several stand behind it. */
export function onlyBackend(endpoint: Endpoint): string {
  return isMerged(endpoint) ? '' : (endpoint.backends[0] ?? '');
}

function endPending({ pendingCalls }: SharedServices, { principal, endpoint, request }: RequestContext): void {
  const state = textMember(request.bytes, request.params, 'requestState');
  if (state === undefined) return;
  onFulfilled(pendingCalls.take(state, { principal, endpoint: endpoint.path, request }), (taken) => {
    if (taken instanceof ModernResponder) taken.abandon('Denied by policy');
  });
}

/** Whether the failure has an HTTP status of its own, which must be known before the response begins. */
export function isToldByStatus(error: unknown): boolean {
  return error instanceof Denied && (error.http?.status ?? error.row.status) !== 200;
}

/** A rejected promise that may be handled later, or never. */
export function rejected(error: unknown): Promise<never> {
  const promise = Promise.reject(error);
  promise.catch(() => undefined);
  return promise;
}

/** The request was allowed, or will be, and is not executed after all. */
export function abandon(context: RequestContext, cleared: void | Promise<void>): void {
  if (cleared instanceof Promise) onFulfilled(cleared, () => abandonAuthorization(context.authorization));
  else abandonAuthorization(context.authorization);
}

export function abandonAuthorization(authorization: Authorization): void {
  authorization.over?.({ outcome: 'cancelled' });
}

/** The tool's annotations in the backend's latest list; undefined where there are none. */
async function annotationsOf(lists: Lists, backend: string, own: string, reader: Reader): Promise<unknown> {
  const entry = (await lists.parts.entriesOf(backend, reader)).find(({ key }) => key === own);
  const value = entry && valueAt(entry.bytes, { start: 0, end: entry.bytes.byteLength });
  return isObject(value) ? value.annotations : undefined;
}
