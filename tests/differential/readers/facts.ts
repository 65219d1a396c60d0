/** What one reader takes out of a forwarded message: everything that a rule of the run looks at. */
export interface Facts {
  /** Absent: this reader refuses the message, and so would a server that is built on it. */
  readonly method?: string;
  /** Written as `arguments` are. */
  readonly id?: string;
  readonly name?: string;
  readonly uri?: string;
  readonly refType?: string;
  readonly refName?: string;
  readonly refUri?: string;
  /** By the name that a rule uses; written as JSON with numbers as the reader's own number. */
  readonly arguments: Readonly<Record<string, string>>;
  /** The URI as this reader's library takes it apart. */
  readonly parsedUri?: ParsedUri;
}

export interface ParsedUri {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
  /** After one decoding. */
  readonly path: string;
}

export interface Reading {
  readonly reader: string;
  /** One for each message of a batch; empty where the reader refuses the text. */
  readonly facts: readonly Facts[];
}

/** The arguments that rules of the run look at. */
export const watchedArguments = ['force', 'path', 'amount', 'mode', 'kind'] as const;
