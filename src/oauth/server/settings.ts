/** What the config says about the bundled authorization server, checked and complete. */

export interface AuthServerSettings {
  /** Absolute. */
  readonly userFile: string;
  /** What each scope means, in words for the person who is asked. Scopes that endpoints need are known without it. */
  readonly scopes: Readonly<Record<string, string>>;
  readonly tokenTtlMs: number;
  readonly refreshTtlMs: number;
  /** Whether clients that nobody knows may register themselves (RFC 7591). */
  readonly registration: 'open' | 'off';
  /** Whether a client may be the address of a document about it (client-ID metadata documents). */
  readonly metadataDocuments: boolean;
  /** Addresses that metadata documents may be fetched from although they lead inside: host names or CIDR ranges. */
  readonly allowAddresses: readonly string[];
}

/** An endpoint that tokens can be for. */
export interface Resource {
  /** Every spelling of its address, the usual one first. */
  readonly addresses: readonly string[];
  /** What every use of it needs. */
  readonly required: readonly string[];
  /** All that can be asked for. */
  readonly scopes: readonly string[];
}

/** Where an endpoint needs no scope at all, a token still has to be for something that a person can agree to. */
export const basicScope = 'mcp';
