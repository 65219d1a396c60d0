/** What the OAuth client needs from the rest of the gateway. */
import type { WallClock, Warn } from '../../observe/ports.ts';
import type { Bus, Lease, Records } from '../../store/ports.ts';

export interface TrustedFetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

/**
 * Satisfied by the platform's `fetch`. Redirects are never followed: the secrets of a request would go to whatever host
 * the redirect names.
 */
export type TrustedFetch = (url: string, init: TrustedFetchInit) => Promise<Response>;

export interface CredentialPorts {
  /** Must be sealed: values contain tokens, secrets and verifiers. */
  readonly records: Records;
  readonly lease: Lease;
  readonly bus: Bus;
  readonly time: WallClock;
  /** For URLs that a third party named: it refuses internal addresses. */
  readonly outward: TrustedFetch;
  /** For URLs from the config: those of backends and pinned issuers. */
  readonly trusted: TrustedFetch;
  readonly warn: Warn;
}
