/** Limits of a request to an address that a third party named. The documents are small, and a person waits. */
export interface OutwardLimits {
  readonly urlBytes: number;
  /** To establish a connection: DNS, TCP and TLS. */
  readonly connectMs: number;
  readonly headersMs: number;
  /** From the call to the last byte. */
  readonly totalMs: number;
  readonly headerBytes: number;
  /** Of a response, before and after decompression. */
  readonly bodyBytes: number;
  /** Of a request body. */
  readonly sentBytes: number;
  /** In flight at once. Further requests are refused rather than queued, since third parties could fill any queue. */
  readonly requests: number;
  /** In flight to one host: a slow host must not use up all slots. */
  readonly requestsPerHost: number;
}

export const outwardLimits: OutwardLimits = {
  urlBytes: 2048,
  connectMs: 5_000,
  headersMs: 5_000,
  totalMs: 10_000,
  headerBytes: 16 * 1024,
  bodyBytes: 256 * 1024,
  sentBytes: 64 * 1024,
  requests: 64,
  requestsPerHost: 8,
};
