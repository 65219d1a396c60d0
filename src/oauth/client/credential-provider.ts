/** Supplies the credentials for requests to one backend on behalf of one principal. */

export type CredentialHeaders = Readonly<Record<string, string>>;

export interface UpstreamRefusal {
  readonly status: number;
  /** All `WWW-Authenticate` headers, in order. */
  readonly wwwAuthenticate: readonly string[];
  /** What `headers()` returned for the refused request. */
  readonly presented: CredentialHeaders;
}

export interface CredentialProvider {
  /** Before the stored credentials are open there are none: `headers` need not be asked. Absent: they are open. */
  readonly stored?: { readonly isOpen: boolean };
  /**
   * The headers to send now. Returns a value if no request is needed (the token is fresh, or there is none), else a
   * promise, which rejects with a Failure. Returns the same object while nothing changed. Empty without a token: the
   * backend's challenge then says what it requires.
   */
  headers(): CredentialHeaders | Promise<CredentialHeaders>;
  /**
   * The backend refused the credentials with a 401 or 403. Resolves if there are better ones now, and the caller
   * retries; the number of retries in a row is limited here. Rejects with a Failure: `consent_needed` (with `url`,
   * `elicitationId` and `backend` in its data), `backend_unauthorized`, `backend_forbidden`, or the reason why no
   * better credentials could be obtained.
   */
  refused(refusal: UpstreamRefusal): Promise<void>;
}
