/**
 * Hop marks, by which a gateway notices that a backend leads back to it. Each gateway process has a random id.
 *
 *   request    The ids of the gateways that it came by, as far as they are known. A gateway that finds its own id in a request
 *              that opens something (`server/discover`, `initialize`) refuses the request.
 *   response   To an opening request with the header: the gateway that answers and all gateways behind it, each with the one
 *              that has it as a backend: `idOfB, idOfC.0, idOfA.1`, where 0 and 1 are places in the list.
 *
 * A gateway that finds itself in a response is part of a loop. The gateway with the smallest id in a loop leaves it: it does not use
 * that backend, and no longer tells what is behind it. So each loop is left by one gateway, and it is always the same: whether a
 * gateway leaves one depends only on what gateways with greater ids do. Of several routes to a gateway, one is told whose
 * smallest id is the greatest, so that a gateway finds a loop that it has to leave behind one that another leaves.
 */
export const VIA = 'bascule-via';

/** The ids from the gateway that answered to one behind it, that one included. */
export type GatewayRoute = readonly string[];

/** More gateways than anybody has in a row, in a header of 2 KiB. Loops over those that are left out are not found. */
const MOST_IDS = 64;
/** Id, dot, place, comma, space. */
const ENTRY_CHARACTERS = 32 + 1 + 2 + 1 + 1;
const ID = /^[\w-]{32}$/;
const PLACED = /^([\w-]{32})(?:\.(\d{1,2}))?$/;

/** Of a request. What has another shape than our ids is left out. */
export function readVia(value: string | undefined): readonly string[] {
  if (value === undefined) return [];
  return unique(entries(value)).filter((id) => ID.test(id));
}

export function writeVia(ids: readonly string[]): string {
  return unique(ids).slice(0, MOST_IDS).join(', ');
}

/** Of a response. What has another shape, or a place that did not come before, is left out with all that follows. */
export function readRoutes(value: string): readonly GatewayRoute[] {
  const routes: GatewayRoute[] = [];
  for (const entry of entries(value)) {
    const [, id, place] = PLACED.exec(entry) ?? [];
    const before = place === undefined ? [] : routes[Number(place)];
    if (id === undefined || before === undefined) break;
    routes.push([...before, id]);
  }
  return routes;
}

/** What gateway `own` answers. `behind`: what its backends answered. */
export function writeRoutes(own: string, behind: readonly GatewayRoute[]): string {
  const places = new Map([[own, 0]]);
  const written = [own];
  for (const { route } of behind.map(ranked).sort(byPreference)) {
    const [last = own, from = own] = [...route].reverse();
    // What is behind this gateway by way of itself is told already.
    if (written.length === MOST_IDS || places.has(last) || route.includes(own)) continue;
    places.set(last, written.length);
    written.push(`${last}.${places.get(from) ?? 0}`);
  }
  return written.join(', ');
}

interface Ranked {
  readonly route: GatewayRoute;
  readonly smallest: string;
}

function ranked(route: GatewayRoute): Ranked {
  return { route, smallest: route.reduce((least, id) => (id < least ? id : least)) };
}

/** A route comes after the one that it goes on from: that one is shorter, and its smallest id is no smaller. */
function byPreference(one: Ranked, other: Ranked): number {
  if (one.smallest !== other.smallest) return one.smallest > other.smallest ? -1 : 1;
  return one.route.length - other.route.length;
}

/**
 * Whether gateway `own` must not use the backend that answered so. `outer`: the gateways that started it. They are not told what is
 * behind it, so it is the one to leave a loop with them.
 */
export function leadsBack(routes: readonly GatewayRoute[], own: string, outer: readonly string[]): boolean {
  return routes.some((route) => {
    const last = route.at(-1) ?? '';
    return outer.includes(last) || (last === own && route.every((id) => own <= id));
  });
}

function entries(value: string): readonly string[] {
  return value
    .slice(0, MOST_IDS * ENTRY_CHARACTERS)
    .split(',', MOST_IDS)
    .map((entry) => entry.trim());
}

function unique(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)];
}
