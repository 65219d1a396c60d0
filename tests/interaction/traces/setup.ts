/** Gateways that send their traces to a collector of the test, and trace contexts of clients. */
import { type CollectedSpan, type Collector, collector } from '../harness/collector.ts';
import { type ConfigValue, type Ports, startGateway, type TestGateway } from '../harness/gateway.ts';

export interface Traced {
  readonly gateway: TestGateway;
  /** Ends the gateway, which sends what is waiting. */
  spans(): Promise<Collector>;
}

/** `traces` stand beside the address of the collector. */
export async function startTraced(config: ConfigValue, traces: ConfigValue = {}, ports: Ports = {}): Promise<Traced> {
  const collected = await collector();
  const gateway = await startGateway({ ...config, traces: { url: collected.url, ...traces } }, ports);
  return {
    gateway,
    spans: async () => {
      await gateway.close();
      return collected;
    },
  };
}

/** A span of a client. */
export const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' } as const;
export const otherCaller = { traceId: 'd1'.repeat(16), spanId: 'd2'.repeat(8) } as const;

export type Caller = Pick<CollectedSpan, 'traceId' | 'spanId'>;

export function traceparent({ traceId, spanId }: Caller, flags = '01'): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

/** What a peer reads from a `traceparent`. */
export function readTraceparent(text: unknown): Caller & { readonly flags: string } {
  const [, traceId = '', spanId = '', flags = ''] = String(text).split('-');
  return { traceId, spanId, flags };
}
