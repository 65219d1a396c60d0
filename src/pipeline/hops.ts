/** Headers that gateways exchange, so that loops through several of them are found. wire/via.ts has the rule. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint, HeaderReader } from '../exchange/arrival.ts';
import type { CurrentBackends } from '../upstream/backends.ts';
import { type MetGateways, readVia, VIA, writeRoutes } from '../wire/via.ts';

export interface HopsOptions {
  readonly instance: string;
  readonly currentGeneration: CurrentBackends;
  readonly metGateways: MetGateways;
}

/** Computed when the response goes out: making the response may have discovered more gateways behind this one. */
export type HopHeaders = () => Readonly<Record<string, string>>;

/** Returns a Failure for a request that this gateway sent itself, and undefined where the sender is no gateway. */
export function meetHop(
  { instance, currentGeneration, metGateways }: HopsOptions,
  endpoint: Endpoint,
  header: HeaderReader,
): HopHeaders | Failure | undefined {
  const ids = readVia(header(VIA));
  if (ids.length === 0) return undefined;
  if (ids.includes(instance)) return new Failure('gateway_loop');
  metGateways.add(ids);
  return () => {
    const behind = endpoint.backends.flatMap((name) => currentGeneration.now.backends.get(name)?.behind ?? []);
    return { [VIA]: writeRoutes(instance, behind) };
  };
}
