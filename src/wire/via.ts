/**
 * Hop marks, by which a gateway detects that a backend leads back to it. Each gateway process has a random id.
 *
 *   request    The ids of the gateways that it passed, as far as they are known. A gateway that finds its own id in an
 *              opening request (`server/discover`, `initialize`) refuses the request.
 *   response   To an opening request with the header: the gateway that answers and all gateways behind it, each with
 *              the one that has it as a backend: `idOfB, idOfC.0, idOfA.1`, where 0 and 1 are positions in the list.
 *
 * A gateway that finds itself in a response is part of a loop. The gateway with the smallest id in a loop leaves it: it
 * does not use that backend, and no longer lists what is behind it. So exactly one gateway leaves each loop, and always
 * the same one: whether a gateway leaves depends only on gateways with greater ids. Of several routes to a gateway, the
 * one whose smallest id is the greatest is listed: a gateway must find a loop that it has to leave even if that loop is
 * reached through a loop that another gateway leaves.
 */
export const VIA = 'bascule-via';

/** The ids from the gateway that answered to one behind it, including that one. */
export type GatewayRoute = readonly string[];

/** More gateways than anyone chains, in a header of 2 KiB. Loops through gateways that are left out are not found. */
const MOST_IDS = 64;
/** Id, dot, position, comma, space. */
const ENTRY_CHARACTERS = 32 + 1 + 2 + 1 + 1;
const ID = /^[\w-]{32}$/;
const PLACED = /^([\w-]{32})(?:\.(\d{1,2}))?$/;

/** Reads the header of a request. Entries that are not shaped like our ids are dropped. */
export function readVia(value: string | undefined): readonly string[] {
  if (value === undefined) return [];
  return unique(entries(value)).filter((id) => ID.test(id));
}

export function writeVia(ids: readonly string[]): string {
  return unique(ids).slice(0, MOST_IDS).join(', ');
}

/** Reads the header of a response. At an invalid entry, or a position that did not come before, reading stops. */
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

/** The response header of gateway `own`; `behind` are the routes that its backends answered. */
export function writeRoutes(own: string, behind: readonly GatewayRoute[]): string {
  const places = new Map([[own, 0]]);
  const written = [own];
  for (const { route } of behind.map(ranked).sort(byPreference)) {
    const [last = own, from = own] = [...route].reverse();
    // Routes through this gateway itself are already listed.
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

/** A route comes after the one it extends: that one is shorter, and its smallest id is no smaller. */
function byPreference(one: Ranked, other: Ranked): number {
  if (one.smallest !== other.smallest) return one.smallest > other.smallest ? -1 : 1;
  return one.route.length - other.route.length;
}

/**
 * Whether gateway `own` must not use the backend that answered these routes. `outer` are the gateways that started this
 * process. They do not learn what is behind it, so this gateway must be the one to leave a loop with them.
 */
export function leadsBack(
  routes: readonly GatewayRoute[],
  own: string,
  outer: readonly string[],
  hasMet: (id: string) => boolean,
): boolean {
  return routes.some((route) => {
    const last = route.at(-1) ?? '';
    // A backend may say of itself what it likes. What it says of gateways behind it is hearsay, which anybody there can
    // make up.
    if (route.length <= 2) return outer.includes(last) || (last === own && route.every((id) => own <= id));
    return last === own && route.every((id) => own <= id) && hasMet(route.at(-2) ?? '');
  });
}

/** More gateways than call one another. */
const MOST_MET = 256;

/** The gateways that have called this one lately. A route over several gateways is believed where its last one has. */
export class MetGateways {
  readonly #ids = new Set<string>();

  add(ids: readonly string[]): void {
    for (const id of ids) {
      this.#ids.delete(id);
      this.#ids.add(id);
    }
    for (const id of this.#ids) {
      if (this.#ids.size <= MOST_MET) return;
      this.#ids.delete(id);
    }
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
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
