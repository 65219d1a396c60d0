/** What transports hand messages to: the gateway, or with `--trace` the gateway with a trace of its clients. */
import type { Assembled } from '../app/assemble.ts';
import { tracedGateway } from '../downstream/traced-gateway.ts';
import type { Gateway } from '../exchange/arrival.ts';
import type { WireTrace } from '../observe/wire-trace.ts';

export function frontOf({ gateway, currentGeneration }: Assembled, trace: WireTrace | undefined): Gateway {
  if (trace === undefined) return gateway;
  return tracedGateway(gateway, trace, (credentials) => currentGeneration.now.addresses.of(credentials));
}
