/** What one config says about requests before they reach an endpoint. Every request reads the current one. */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Credentials } from '../identity/principal.ts';
import { ClientAddresses } from './callers.ts';
import { type OriginRules, Origins } from './origin.ts';
import { type Routes, routesOf } from './routes.ts';

export interface ListenRules extends OriginRules {
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
}

/** The parts of authentication that do not depend on what a request asks for. */
export interface AuthMetadata {
  /** A public document, by its path. */
  document(path: string, host: string | undefined): object | undefined;
  keyHeader(endpointPath: string): string | undefined;
  /** True if there is no such endpoint, and unauthenticated senders must not learn that. */
  hides(endpointPath: string): boolean;
  /** Whether the sender may see the backends' names. Undefined where nothing is authenticated. */
  mayKnow(credentials: Credentials): Promise<boolean | undefined>;
}

export interface Ingress {
  readonly routes: Routes;
  readonly origins: Origins;
  readonly addresses: ClientAddresses;
  readonly authenticator: AuthMetadata;
}

/** Throws for a trusted proxy that is neither an address nor a range. */
export function ingressOf(
  endpoints: readonly Endpoint[],
  listen: ListenRules,
): Pick<Ingress, 'routes' | 'origins' | 'addresses'> {
  return {
    routes: routesOf(endpoints),
    origins: new Origins(listen),
    addresses: new ClientAddresses(listen.trustedProxies),
  };
}
