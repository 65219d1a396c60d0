/** The outside, as far as this room needs it; handed in. */
import type { Bus, Lease, Records } from '../../store/ports.ts';

export interface Time {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once after `ms`; returns how to prevent that. */
  after(ms: number, action: () => void): () => void;
}

export interface TrustedFetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

/** The platform's own `fetch` is one. Redirects are never followed: what is told in one is told to whoever it names. */
export type TrustedFetch = (url: string, init: TrustedFetchInit) => Promise<Response>;

/** For people who run the gateway. Never a secret, never what a peer sent. */
export type Warn = (text: string, facts: Readonly<Record<string, unknown>>) => void;

export interface CredentialPorts {
  /** Sealed: tokens, secrets and verifiers stand in them as they are. */
  readonly records: Records;
  readonly lease: Lease;
  readonly bus: Bus;
  readonly time: Time;
  /** For addresses that somebody else named: it refuses those that must not be asked. */
  readonly outward: TrustedFetch;
  /** For addresses that the operator wrote down: the backends' own, and pinned issuers'. */
  readonly trusted: TrustedFetch;
  readonly warn: Warn;
}
