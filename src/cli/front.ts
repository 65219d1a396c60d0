/** What transports hand messages to: the gateway, or with `--trace` the gateway with a trace of its clients. */
import type { Assembled } from '../app/assemble.ts';
import { tracedGateway } from '../downstream/traced-gateway.ts';
import type { Gateway } from '../exchange/arrival.ts';
import type { WireTrace } from '../observe/wire-trace.ts';

export function frontOf({ gateway, currentGeneration }: Assembled, wireTrace: WireTrace | undefined): Gateway {
  if (wireTrace === undefined) return gateway;
  return tracedGateway(gateway, wireTrace, (credentials) => currentGeneration.now.addresses.of(credentials));
}
