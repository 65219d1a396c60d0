/** Who is calling. Sessions, parked calls, caches and event logs belong to a principal and to nobody else. */

/** What a client presented, before anybody looked at it. */
export interface Credentials {
  readonly authorization: string | undefined;
}

export interface Principal {
  /** Equal for the same principal, different for any other; safe to use as a key, never shown to peers. */
  readonly key: string;
}
