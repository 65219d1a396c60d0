/** The part of a merged list that each audience may see. */
import type { ListView } from '../catalog/view.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import type { MethodRow } from '../wire/methods.ts';
import { isObject, valueAt } from '../wire/values.ts';
import type { Authorizer } from './authorizer.ts';
import { listed, ownUri } from './filtered-list.ts';

export interface ShownList {
  /** Equal for principals that see the same. */
  readonly audience: string;
  /** The part of the list that the audience may see. */
  places(view: ListView): ListView['places'];
  /** Whether the audience may know that the backend exists. */
  knows(backend: string): boolean;
  /** Whether the audience may know that the backend has an entry with this name. */
  knowsOf(backend: string, name: string): boolean;
}

/** Undefined if everybody sees everything. */
export function shownTo(
  authorizer: Authorizer,
  endpoint: Endpoint,
  row: MethodRow,
  principal: Principal,
): ShownList | undefined {
  const audience = authorizer.audience({ principal, endpoint });
  if (audience === undefined || row.list === undefined) return undefined;
  const { kind } = listed[row.list];
  const to = { principal, endpoint };
  const extents = new Map(endpoint.backends.map((backend) => [backend, authorizer.extent(to, kind, backend)]));
  return {
    audience,
    knows: (backend) => extents.get(backend) !== 'none',
    knowsOf: (backend, name) =>
      extents.get(backend) !== 'none' &&
      authorizer.shows(to, backend, { kind, name, own: ownUri(endpoint, backend, name) }),
    places: ({ places }) =>
      places.filter(({ backend, name, clientName, bytes }) => {
        const extent = extents.get(backend);
        if (extent !== 'some') return extent === 'all';
        return authorizer.shows(to, backend, { kind, name: clientName, own: name }, () => {
          const entry = valueAt(bytes, { start: 0, end: bytes.byteLength });
          return isObject(entry) ? entry.annotations : undefined;
        });
      }),
  };
}
