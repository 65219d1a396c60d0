/** What one backend is presented on behalf of one principal. */

export type CredentialHeaders = Readonly<Record<string, string>>;

export interface UpstreamRefusal {
  readonly status: number;
  /** Every header of that name, in order. */
  readonly wwwAuthenticate: readonly string[];
  /** What `headers()` gave for the request that was refused. */
  readonly presented: CredentialHeaders;
}

export interface CredentialProvider {
  /**
   * What to present now: a value where nobody has to be asked (what is in hand is fresh, or nothing is), else a promise,
   * which rejects with a Failure. The same object while nothing changed. Empty where nothing is in hand: the backend's
   * challenge then says what it wants.
   */
  headers(): CredentialHeaders | Promise<CredentialHeaders>;
  /**
   * The backend refused what was presented: a 401, or a 403. Resolves where something better is in hand now, and the caller
   * sends again; how often in a row is bounded here. Rejects with a Failure: `consent_needed` (with `url`, `elicitationId`
   * and `backend` in its data), `backend_unauthorized`, `backend_forbidden`, or what kept us from getting something better.
   */
  refused(refusal: UpstreamRefusal): Promise<void>;
}
