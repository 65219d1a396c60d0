/** What differs where several backends stand behind an endpoint. */

import type { CallStarter } from '../bridge/responder.ts';
import { mayFind } from '../budget/may-find.ts';
import { withinBudget } from '../budget/shown.ts';
import { mergeDiscoveries } from '../catalog/discovery.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { Backend, Discovery } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import { type ShownList, shownTo } from '../policy/filtered-list.ts';
import { about } from '../wire/about.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { member, stringAt } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import type { RequestContext } from './context.ts';
import { filtersEntries, withShownEntries } from './decide-outside.ts';
import { findCall } from './find-tools.ts';
import { withoutHeldInstructions } from './interceptors/pin-filter.ts';
import { readerOf } from './resolve.ts';
import type { SharedServices, StageServices } from './services.ts';

/**
 * What all backends offer together. Does not wait for slow ones: what they offer is announced later as a list change.
 */
export async function discoverAll(
  { currentGeneration, clock, limits }: SharedServices,
  endpoint: Endpoint,
  principal: Principal,
): Promise<Discovery> {
  const { backends, consenting, pins } = currentGeneration.now;
  const all = endpoint.backends.flatMap((name) => backends.of(name, principal) ?? []);
  const unknown = all.filter(({ lastDiscovery }) => lastDiscovery === undefined);
  if (unknown.length > 0) {
    const probes = Promise.allSettled(unknown.map((backend) => backend.discover()));
    await within(clock, limits.discoverWaitMs, probes, () => undefined);
  }
  const parts = all.map(async (backend) => ({
    backend: backend.name,
    discovery: backend.lastDiscovery && withoutHeldInstructions(pins, backend.name, backend.lastDiscovery),
    // A state that all principals share waits for no particular person.
    consentUrl:
      backends.get(backend.name) === backend
        ? undefined
        : (refusedFor(backend) ?? (await consenting?.pendingPage(backend.name, principal))),
  }));
  return mergeDiscoveries(await Promise.all(parts), about);
}

/** Where the principal has to consent before the backend can be discovered. */
function refusedFor({ state }: Backend): string | undefined {
  if (state.state !== 'refused' || state.failure.reason !== 'consent_needed') return undefined;
  const url = state.failure.data?.url;
  return typeof url === 'string' ? url : undefined;
}

/** What the gateway answers for all backends together: a list, or a search over the list of tools. */
export function ownCall(services: StageServices, context: RequestContext): CallStarter {
  return context.row.list === undefined ? findCall(services, context) : listCall(services, context);
}

/** Answers a list request from the merged list. */
function listCall(services: StageServices, context: RequestContext): CallStarter {
  const { lists, fault } = services.shared;
  const { endpoint, authorization, request, era } = context;
  const start = ({ row, message }: CallRequest, sink: CallSink): Call => {
    let cancelled = false;
    // Undefined: no backend has such a list.
    const settle = (page: ResultResponse | undefined) => {
      if (page === undefined) fail(unknownMethod(request, era));
      else if (filtersEntries(context)) void withShownEntries(context, asOutcome(page), ruledOf()).then(tell);
      else tell(asOutcome(page));
    };
    const ruledOf = () => {
      const view = lists.knownView(endpoint, row, readerOf(services, context));
      return (name: string) => {
        const origin = view.find(name);
        if (origin === undefined) return { backend: '', name };
        return {
          backend: origin.backend,
          name: endpoint.overrides === undefined ? name : (view.nameOf(origin) ?? name),
        };
      };
    };
    const tell = (outcome: CallOutcome) => {
      if (!cancelled) sink.settle(outcome);
    };
    const fail = (error: unknown) => {
      if (!cancelled) sink.settle({ kind: 'failure', failure: fault(error) });
    };
    try {
      const reader = readerOf(services, context);
      const shown = formsOf(services.shared, authorization.authorizer, endpoint, row, reader.principal);
      const page = lists.page(endpoint, row, reader, cursorOf(message), shown);
      if (page instanceof Promise) page.then(settle, fail);
      else settle(page);
    } catch (error) {
      fail(error);
    }
    return {
      cancel: () => {
        cancelled = true;
      },
    };
  };
  return { start };
}

/** What becomes of a list on its way to a principal. */
function formsOf(
  { toolLists }: Pick<SharedServices, 'toolLists'>,
  authorizer: Authorizer,
  endpoint: Endpoint,
  row: MethodRow,
  principal: Principal,
): readonly ShownList[] {
  const shown = shownTo(authorizer, endpoint, row, principal);
  const { budget } = endpoint;
  const forms = shown === undefined ? [] : [shown];
  if (budget === undefined || row.list !== 'tools') return forms;
  return [
    ...forms,
    withinBudget(budget, mayFind(authorizer, endpoint, principal), (cost) => toolLists.set(endpoint.path, cost)),
  ];
}

function asOutcome(message: ResultResponse): CallOutcome {
  return { kind: 'result', message, vocabulary: 'modern', screened: true };
}

function cursorOf({ bytes, params }: Request): string | undefined {
  const span = member(params, 'cursor');
  if (span === undefined) return undefined;
  const cursor = stringAt(bytes, span);
  if (cursor === undefined) throw new Failure('invalid_cursor');
  return cursor;
}
