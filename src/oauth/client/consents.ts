/**
 * The consents that calls wait for. They are stored in Records, so a restart between link and redirect loses nothing.
 */
import type { Failure } from '../../errors/failure.ts';

/** What a page may show of an open consent. */
export interface Consent {
  readonly id: string;
  readonly backend: string;
  /** The backend's URL. */
  readonly url: string;
  readonly issuer: string;
  /** The page of the authorization server. The issuer's metadata names it, possibly on a different host. */
  readonly authorizationEndpoint?: string | undefined;
  /** Empty if the authorization server chooses. */
  readonly scopes: readonly string[];
  /** Only this principal may complete it. */
  readonly principal: ConsentPrincipal;
  /** True if all users of the backend share the resulting tokens. */
  readonly shared: boolean;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

/** The part of a principal that is needed to recognize it. */
export interface ConsentPrincipal {
  readonly key: string;
  readonly kind: 'local' | 'key' | 'token';
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly keyName?: string | undefined;
}

export interface Consents {
  /** Undefined if the consent is unknown, used or expired. */
  find(id: string): Promise<Consent | undefined>;
  /** The URL to send the person to. Rejects with `consent_unknown`. */
  authorizationUrl(id: string): Promise<string>;
  /**
   * Handles the redirect's parameters. Rejects with a Failure: `consent_unknown`, `consent_invalid` (the consent stays
   * open), `consent_refused`, or the authorization server's error for the code.
   */
  complete(id: string, parameters: URLSearchParams): Promise<Consent>;
  /** Never rejects. Resolves with `consent_pending` on timeout. */
  waitFor(id: string, ms: number, signal?: AbortSignal): Promise<'done' | Failure>;
}

/** `state` begins with the id, so that the page can find the cookie of this flow. */
export function consentOf(state: string): string | undefined {
  const dot = state.indexOf('.');
  return dot > 0 ? state.slice(0, dot) : undefined;
}
