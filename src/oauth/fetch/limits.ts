/** What a request to an address that somebody else has named may cost. The documents there are small, and a person waits. */
export interface OutwardLimits {
  readonly urlBytes: number;
  /** Until a connection stands: the name, TCP and TLS. */
  readonly connectMs: number;
  readonly headersMs: number;
  /** From the call to the last byte. */
  readonly totalMs: number;
  readonly headerBytes: number;
  /** Of an answer, before and after it is decompressed. */
  readonly bodyBytes: number;
  /** Of a request. */
  readonly sentBytes: number;
  /** Under way at once; those beyond are refused, since whoever names addresses could fill any queue. */
  readonly requests: number;
  /** Of those, to one host: a slow one must not take all places. */
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
