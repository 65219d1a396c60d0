/**
 * Authorizes `subscriptions/listen` part by part. Each resource is decided on its own; changes of a list are for
 * clients that may read the list. A denied part is not honoured, and the acknowledgement says so. Where every part is
 * denied, the request is denied.
 */

import type { Reader } from '../catalog/list-reader.ts';
import { isMerged, type NameResolver } from '../catalog/name-resolver.ts';
import { Failure } from '../errors/failure.ts';
import type { Ending } from '../exchange/exchange.ts';
import type { AuditParts } from '../policy/audit-parts.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import type { Thing } from '../policy/question.ts';
import { Denied } from '../policy/refusals.ts';
import { withParam } from '../subscriptions/notifications.ts';
import type { Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { filterIn, filterOf, listKinds } from '../wire/subscription-filter.ts';
import { asAuthorizationRequest, onlyBackend } from './authorize.ts';
import type { RequestContext } from './context.ts';
import { askEveryone } from './decide-outside.ts';
import { readerOf } from './resolve.ts';
import type { StageServices } from './services.ts';

export interface ListenAuthorization extends Authorization {
  /** The request, with its filter reduced to what is allowed. */
  readonly message: Request;
}

/** Rejects with a Failure where every part is denied. */
export async function authorizeListen(services: StageServices, context: RequestContext): Promise<ListenAuthorization> {
  const grants = new ListenAuthorizations(context);
  try {
    return await decideParts(services, context, grants);
  } catch (error) {
    grants.abandon(error);
    throw error;
  }
}

/** The allowed parts of one request. All of them end together, and are one audit record. */
class ListenAuthorizations {
  readonly #context: RequestContext;
  readonly #parts: AuditParts | undefined;
  readonly #grants: Authorization[] = [];
  denial: Denied | undefined;

  constructor(context: RequestContext) {
    this.#context = context;
    this.#parts = context.authorizer.recordParts();
  }

  get first(): Authorization | undefined {
    return this.#grants[0];
  }

  async ask(row: MethodRow, backend: string, thing?: Thing): Promise<boolean> {
    try {
      const request = asAuthorizationRequest(this.#context, row, backend, thing);
      this.#grants.push(await askEveryone(this.#context.authorizer, request, this.#parts));
      return true;
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      this.denial ??= error;
      return false;
    }
  }

  readonly over: NonNullable<Authorization['over']> = (ending) => this.#end('allow', ending);

  /** What was allowed is not executed after all. */
  abandon(error: unknown): void {
    const reason = error instanceof Failure ? { reason: error.reason } : {};
    this.#end(error instanceof Denied ? 'deny' : 'allow', { outcome: 'cancelled', ...reason });
  }

  #end(decision: 'allow' | 'deny', ending: Ending): void {
    for (const authorization of this.#grants.splice(0)) authorization.over?.(ending);
    this.#parts?.end(asAuthorizationRequest(this.#context, this.#context.row, ''), decision, ending);
  }
}

async function decideParts(
  services: StageServices,
  context: RequestContext,
  grants: ListenAuthorizations,
): Promise<ListenAuthorization> {
  const { authorizer, endpoint, request: message, row } = context;
  const { nameResolver } = services.shared;
  const reader = () => readerOf(services, context);
  const filter = filterIn(message);
  const merged = isMerged(endpoint);
  const backend = onlyBackend(endpoint);
  const isUri = async (uri: string): Promise<boolean> => {
    if (!merged) return grants.ask(row, backend, { kind: 'resource', name: uri });
    const origin = await located(nameResolver, context, uri, reader());
    if (origin === undefined) return false;
    return grants.ask(row, origin.backend, await nameResolver.thing(endpoint, 'resource', origin, reader()));
  };
  const left: Record<string, unknown> = { ...filterOf(filter) };
  for (const { flag, lists } of listKinds) {
    if (filter[flag] && !(await grants.ask(methodRow(lists[0]) as MethodRow, backend))) delete left[flag];
  }
  const uris: string[] = [];
  for (const uri of filter.resourceSubscriptions) if (await isUri(uri)) uris.push(uri);
  // The filter is empty, or names only resources that no backend has. Whether the client may listen at all is still
  // decided, and recorded.
  if (grants.first === undefined && grants.denial === undefined) await grants.ask(row, backend);
  const { denial, first } = grants;
  if (denial !== undefined && (first === undefined || isForAll(denial))) throw denial;
  if (first === undefined) throw new Failure('internal_error', { cause: new Error('neither allowed nor denied') });
  const { permit } = first;
  const { over } = grants;
  if (uris.length === filter.resourceSubscriptions.length && denial === undefined)
    return { permit, authorizer, message, over };
  delete left.resourceSubscriptions;
  if (uris.length > 0) left.resourceSubscriptions = uris;
  return { permit, authorizer, message: withParam(message, 'notifications', left), over };
}

/** True for denials that do not depend on what the part names: every other part would be denied as well. */
function isForAll({ reason }: Denied): boolean {
  return reason === 'rate_limited' || reason === 'audit_unavailable' || reason === 'decision_unavailable';
}

async function located(nameResolver: NameResolver, { endpoint }: RequestContext, uri: string, reader: Reader) {
  try {
    return await nameResolver.locate(endpoint, uri, reader);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
