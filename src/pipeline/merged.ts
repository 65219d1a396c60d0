/** What differs where several backends stand behind an endpoint. */

import type { StartCall } from '../bridge/responder.ts';
import { mergeDiscoveries } from '../catalog/discovery.ts';
import type { Reader } from '../catalog/list-reader.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Backend, Discovery } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import { shownTo } from '../policy/shown-lists.ts';
import { about } from '../wire/about.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import { member, stringAt } from '../wire/values.ts';
import type { SharedServices } from './services.ts';

/**
 * What all backends offer together. Does not wait for slow ones: what they offer is announced later as a list change.
 */
export async function discoverAll(
  { backends, clock, limits }: SharedServices,
  endpoint: Endpoint,
  principal: Principal,
): Promise<Discovery> {
  const all = endpoint.backends.flatMap((name) => backends.of(name, principal) ?? []);
  const unknown = all.filter(({ lastDiscovery }) => lastDiscovery === undefined);
  if (unknown.length > 0) {
    const probes = Promise.allSettled(unknown.map((backend) => backend.discover()));
    await within(clock, limits.discoverWaitMs, probes, () => undefined);
  }
  return mergeDiscoveries(
    all.map((backend) => ({
      backend: backend.name,
      discovery: backend.lastDiscovery,
      consentUrl: consentUrl(backend, backends.get(backend.name) !== backend),
    })),
    about,
  );
}

/**
 * Where the principal has to consent before the backend can be used. A state that all principals share waits for no
 * particular person.
 */
function consentUrl({ state }: Backend, isOwn: boolean): string | undefined {
  if (!isOwn || state.state !== 'refused' || state.failure.reason !== 'consent_needed') return undefined;
  const url = state.failure.data?.url;
  return typeof url === 'string' ? url : undefined;
}

/** Answers a list request from the merged list. `unknown` makes the failure where no backend has such a list. */
export function listCall(
  { lists, fault }: SharedServices,
  { endpoint, authorizer }: { readonly endpoint: Endpoint; readonly authorizer: Authorizer },
  reader: Reader,
  unknown: () => Failure,
): StartCall {
  return ({ row, message }, sink) => {
    let cancelled = false;
    const settle = (page: ResultResponse) => {
      if (!cancelled) sink.settle({ kind: 'result', message: page, vocabulary: 'modern', screened: true });
    };
    const fail = (error: unknown) => {
      if (!cancelled) sink.settle({ kind: 'failure', failure: fault(error) });
    };
    try {
      const shown = shownTo(authorizer, endpoint, row, reader.principal);
      const page = lists.page(endpoint, row, reader, { cursor: cursorOf(message), shown });
      if (page === undefined) fail(unknown());
      else if (page instanceof Promise)
        page.then((given) => (given === undefined ? fail(unknown()) : settle(given)), fail);
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
}

function cursorOf({ bytes, params }: Request): string | undefined {
  const span = member(params, 'cursor');
  if (span === undefined) return undefined;
  const cursor = stringAt(bytes, span);
  if (cursor === undefined) throw new Failure('invalid_cursor');
  return cursor;
}
