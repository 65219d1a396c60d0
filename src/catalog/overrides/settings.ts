/** What the config changes of backends' tools and prompts, for the clients of one endpoint. */

/** Set for every call, or for calls that leave the argument out. */
export interface ArgumentOverride {
  readonly argument: string;
  /** A JSON value. */
  readonly value: unknown;
  /** Clients cannot send it. */
  readonly isFixed: boolean;
}

export interface EntryOverride {
  /** The backend's own name. */
  readonly own: string;
  /** The name for clients, in the place of the backend's own. */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly hide?: boolean;
  /** Of tools. */
  readonly arguments?: readonly ArgumentOverride[];
}

export interface BackendOverrides {
  readonly backend: string;
  readonly tools: readonly EntryOverride[];
  readonly prompts: readonly EntryOverride[];
}
