/**
 * Relays that do the work of the pass-through with other edges of HTTP: what a listener and a client of our own would
 * win. Decision 15 has the figures, and says what these relays lack.
 */
import { bascule } from './bascule.ts';
import type { Contestant } from './contestant.ts';
import { inFrontOfBackend, passThrough } from './pass-through.ts';

type Edge = 'http' | 'undici' | 'net';

interface Relay {
  readonly name: string;
  readonly inward: Edge;
  readonly outward: Edge;
  /** Head and body as one string, or as two pieces that go out in one system call. */
  readonly writing?: 'one' | 'two';
  readonly heads?: 'forwarded' | 'known';
}

const relays: readonly Relay[] = [
  { name: 'http-undici', inward: 'http', outward: 'undici' },
  { name: 'http-undici one string', inward: 'http', outward: 'undici', writing: 'one' },
  { name: 'net-undici', inward: 'net', outward: 'undici' },
  { name: 'http-net', inward: 'http', outward: 'net' },
  { name: 'net-net', inward: 'net', outward: 'net' },
  { name: 'net-net one string', inward: 'net', outward: 'net', writing: 'one' },
  { name: 'net-net known heads', inward: 'net', outward: 'net', writing: 'one', heads: 'known' },
];

function contestantOf({ name, inward, outward, writing = 'two', heads = 'forwarded' }: Relay): Contestant {
  const start = inFrontOfBackend('edges', (origin) => [origin, inward, outward, writing, heads]);
  return { name, group: 'edges', start };
}

export const edges: readonly Contestant[] = [
  { ...passThrough, group: 'edges' },
  ...relays.map(contestantOf),
  { ...bascule, group: 'edges' },
];
