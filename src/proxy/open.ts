/** Opens the proxy that a config describes. Loaded only where there is one. */
import type { ProxyConfig } from '../config/proxy.ts';
import type { SideEntrance } from '../downstream/listener.ts';
import type { WallClock, Warn } from '../observe/ports.ts';
import type { Ca } from './certificates/certificate.ts';
import { DocumentRelay } from './documents.ts';
import { ProxyFront, type ProxyPorts } from './front.ts';
import { Interceptor } from './intercept.ts';

export interface OpenProxyPorts extends Pick<ProxyPorts, 'currentGeneration'> {
  readonly limits: { readonly connectMs: number; readonly headersMs: number };
  readonly time: WallClock;
  readonly warn: Warn;
  /** Throws where it cannot be read. Undefined: there is none. */
  readonly ca: () => Ca | undefined;
}

export async function proxyEntrance(
  { listen }: ProxyConfig,
  { currentGeneration, limits, time, warn, ca }: OpenProxyPorts,
): Promise<SideEntrance> {
  const { makeLeaf } = await import('./certificates/certificate.ts');
  const interceptor = new Interceptor({
    ...{ ca, makeLeaf, now: () => time.now(), handshakeMs: limits.headersMs },
    warn: (error) => warn('the proxy cannot decrypt connections', { cause: String(error) }),
  });
  const documents = new DocumentRelay({ trusted: (url, init) => fetch(url, init), time });
  const { connectMs } = limits;
  return {
    listen,
    handle: (ports) => new ProxyFront({ ...ports, currentGeneration, interceptor, documents, connectMs }),
  };
}
