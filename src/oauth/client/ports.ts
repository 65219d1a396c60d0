/** The outside, as far as this room needs it; handed in. */
import type { WallClock, Warn } from '../../observe/ports.ts';
import type { Bus, Lease, Records } from '../../store/ports.ts';

export interface TrustedFetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

/** The platform's own `fetch` is one. Redirects are never followed: what is told in one is told to whoever it names. */
export type TrustedFetch = (url: string, init: TrustedFetchInit) => Promise<Response>;

export interface CredentialPorts {
  /** Sealed: tokens, secrets and verifiers stand in them as they are. */
  readonly records: Records;
  readonly lease: Lease;
  readonly bus: Bus;
  readonly time: WallClock;
  /** For addresses that somebody else named: it refuses those that must not be asked. */
  readonly outward: TrustedFetch;
  /** For addresses that the operator wrote down: the backends' own, and pinned issuers'. */
  readonly trusted: TrustedFetch;
  readonly warn: Warn;
}
