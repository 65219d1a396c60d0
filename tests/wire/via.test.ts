/** The header that carries the ids of gateways, and what follows from it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type GatewayRoute,
  leadsBack,
  MetGateways,
  readRoutes,
  readVia,
  writeRoutes,
  writeVia,
} from '../../src/wire/via.ts';

const idOf = (place: number) => String(place).padStart(32, 'x');
const [a, b, c, d] = [0, 1, 2, 3].map(idOf) as [string, string, string, string];
const many = Array.from({ length: 100 }, (_, place) => idOf(place));

describe('the ids of a request', () => {
  const cases: readonly { name: string; header: string | undefined; ids: readonly string[] }[] = [
    { name: 'no header', header: undefined, ids: [] },
    { name: 'an empty header', header: '', ids: [] },
    { name: 'one', header: a, ids: [a] },
    { name: 'several, as two headers are joined', header: `${a}, ${b},${a}`, ids: [a, b] },
    { name: 'of another shape', header: `${a}x, ${b.slice(1)}, ${'é'.repeat(32)}, , *`, ids: [] },
    { name: 'among others', header: `1.1 proxy, ${b}`, ids: [b] },
    { name: 'more than are believed', header: many.join(', '), ids: many.slice(0, 64) },
  ];
  it.each(cases)('are read: $name', ({ header, ids }) => expect(readVia(header)).toEqual(ids));

  it('are written once each, and not without bound', () => {
    expect(writeVia([a, b, a])).toBe(`${a}, ${b}`);
    expect(readVia(writeVia(many))).toEqual(many.slice(0, 64));
  });
});

describe('the routes of a response', () => {
  const cases: readonly { name: string; header: string; routes: readonly GatewayRoute[] }[] = [
    { name: 'a gateway alone', header: a, routes: [[a]] },
    { name: 'a chain', header: `${a}, ${b}.0, ${c}.1`, routes: [[a], [a, b], [a, b, c]] },
    { name: 'a tree', header: `${a},${b}.0,${c}.0,${d}.2`, routes: [[a], [a, b], [a, c], [a, c, d]] },
    { name: 'a place that comes later', header: `${a}, ${b}.1`, routes: [[a]] },
    { name: 'another shape', header: `${a}, 1.1 proxy, ${b}.0`, routes: [[a]] },
    { name: 'nothing', header: '', routes: [] },
  ];
  it.each(cases)('are read: $name', ({ header, routes }) => expect(readRoutes(header)).toEqual(routes));

  it('are written once for each gateway, and not by way of the writer', () => {
    const behind = [...readRoutes(`${b}, ${c}.0, ${a}.1, ${d}.2`), ...readRoutes(`${c}, ${b}.0`)];
    expect(writeRoutes(a, behind)).toBe(`${a}, ${c}.0, ${b}.0`);
  });

  it('are not written without bound', () => {
    const behind = many.map((_, place) => many.slice(0, place + 1));
    expect(readRoutes(writeRoutes('o'.repeat(32), behind))).toHaveLength(64);
  });
});

/** Which gateway has which as a backend, by place. */
type Edge = readonly [from: number, to: number];

/** Gateways that ask each other: what each edge was told last, and which edges are not used. */
class Network {
  readonly #told = new Map<Edge, readonly GatewayRoute[]>();
  readonly #edges: readonly Edge[];

  constructor(edges: readonly Edge[]) {
    this.#edges = edges;
  }

  look(edge: Edge): void {
    const next = this.#edges.filter(([from, to]) => from === edge[1] && from !== to);
    const behind = next.flatMap((other) => (this.isUsed(other) ? (this.#told.get(other) ?? []) : []));
    this.#told.set(edge, readRoutes(writeRoutes(idOf(edge[1]), behind)));
  }

  isUsed(edge: Edge): boolean {
    return !leadsBack(this.#told.get(edge) ?? [], idOf(edge[0]), [], () => true);
  }

  get used(): readonly Edge[] {
    return this.#edges.filter((edge) => this.isUsed(edge));
  }
}

function hasLoop(edges: readonly Edge[]): boolean {
  const leaves = edges.filter(([, to]) => edges.some(([from]) => from === to));
  return leaves.length === edges.length ? edges.length > 0 : hasLoop(leaves);
}

describe('gateways that call each other in any order', () => {
  const SIZE = 6;
  const place = fc.nat(SIZE - 1);
  const edge = fc.tuple(place, place).filter(([from, to]) => from !== to);
  const edges = fc.uniqueArray(edge, { maxLength: 14, selector: ([from, to]) => `${from} ${to}` });
  const early = fc.array(fc.nat(13), { maxLength: 40 });

  /** Long enough for news to go around everything. */
  const settled = (all: readonly Edge[], first: readonly number[]) => {
    const network = new Network(all);
    for (const index of first) if (all[index] !== undefined) network.look(all[index]);
    for (let round = 0; round < SIZE * SIZE; round += 1) for (const one of all) network.look(one);
    return network;
  };

  it('end with no loop among the backends in use, and stay so', () => {
    fc.assert(
      fc.property(edges, early, (all, first) => {
        const network = settled(all, first);
        const { used } = network;
        expect(hasLoop(used)).toBe(false);
        for (const one of [...all].reverse()) network.look(one);
        expect(network.used).toEqual(used);
      }),
      { seed: 20260728, numRuns: 2_000 },
    );
  });

  it('use every backend where there is no loop', () => {
    const forward = edges.map((all) => all.filter(([from, to]) => from < to));
    fc.assert(
      fc.property(forward, early, (all, first) => {
        expect(settled(all, first).used).toEqual(all);
      }),
      { seed: 20260728, numRuns: 500 },
    );
  });
});

it('a route over other gateways is believed where the last of them has called us', () => {
  const [own, next, last] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string];
  const ring = [[next, last, own]] as const satisfies readonly GatewayRoute[];
  expect(leadsBack(ring, own, [], () => false)).toBe(false);
  expect(leadsBack(ring, own, [], (id) => id === last)).toBe(true);
  // What a backend says of itself harms only itself.
  expect(leadsBack([[next, own]], own, [], () => false)).toBe(true);
  expect(leadsBack([[next, last, own]], next, [own], () => true)).toBe(false);
});

it('gateways that have called are remembered, and not without end', () => {
  const met = new MetGateways();
  met.add(['first']);
  met.add(Array.from({ length: 256 }, (_, n) => `later ${n}`));
  expect([met.has('first'), met.has('later 0'), met.has('later 255')]).toEqual([false, true, true]);
});
