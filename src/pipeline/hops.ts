/** What other gateways are told, so that loops over several of them are found: wire/via.ts has the rule. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint, HeaderReader } from '../exchange/arrival.ts';
import type { Backends } from '../upstream/backends.ts';
import { readVia, VIA, writeRoutes } from '../wire/via.ts';

export interface HopsOptions {
  readonly instance: string;
  readonly backends: Backends;
}

/** Headers as they are when the answer goes out: what is behind us may have been found out for the sake of the answer. */
export type HopHeaders = () => Readonly<Record<string, string>>;

/** A failure for a request of our own; undefined where the sender is no gateway, and hears nothing of gateways. */
export function meetHop(
  { instance, backends }: HopsOptions,
  endpoint: Endpoint,
  header: HeaderReader,
): HopHeaders | Failure | undefined {
  const ids = readVia(header(VIA));
  if (ids.length === 0) return undefined;
  if (ids.includes(instance)) return new Failure('gateway_loop');
  return () => {
    const behind = endpoint.backends.flatMap((name) => backends.get(name)?.behind ?? []);
    return { [VIA]: writeRoutes(instance, behind) };
  };
}
