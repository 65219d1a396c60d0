/**
 * What a person is asked for in the middle of a call. Kept in Records: a restart between the link and the redirect loses
 * nothing.
 */
import type { Failure } from '../../errors/failure.ts';

/** What a page may tell of a consent that nobody has given yet. */
export interface Consent {
  readonly id: string;
  readonly backend: string;
  /** The backend's address. */
  readonly url: string;
  readonly issuer: string;
  /** Where the person is asked; the issuer's metadata names it, and it may be elsewhere. */
  readonly authorizationEndpoint?: string | undefined;
  /** Empty where the authorization server chooses. */
  readonly scopes: readonly string[];
  /** Whom it is for; nobody else may go through with it. */
  readonly principal: ConsentPrincipal;
  /** For everybody who uses the backend, not for the principal alone. */
  readonly shared: boolean;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

/** As much of a principal as is needed to recognise it. */
export interface ConsentPrincipal {
  readonly key: string;
  readonly kind: 'local' | 'key' | 'token';
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly keyName?: string | undefined;
}

export interface Consents {
  /** Undefined where it is unknown, was used, or has ended. */
  find(id: string): Promise<Consent | undefined>;
  /** Where the person is sent to. Rejects with `consent_unknown`. */
  authorizationUrl(id: string): Promise<string>;
  /**
   * The person came back with these. Rejects with a Failure: `consent_unknown`, `consent_invalid` (the consent goes on to
   * exist), `consent_refused`, or what the authorization server said to the code.
   */
  complete(id: string, parameters: URLSearchParams): Promise<Consent>;
  /** Never rejects. `consent_pending` where the time is over first. */
  waitFor(id: string, ms: number, signal?: AbortSignal): Promise<'done' | Failure>;
}

/** `state` begins with the id, so that the page can find the cookie of this flow among those of others. */
export function consentOf(state: string): string | undefined {
  const dot = state.indexOf('.');
  return dot > 0 ? state.slice(0, dot) : undefined;
}
