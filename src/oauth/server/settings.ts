/** The config of the bundled authorization server, validated and complete. */

import type { CompanySettings } from './company/settings.ts';

export interface AuthServerSettings {
  /** An absolute path. Present, unless people sign in at a provider. */
  readonly userFile?: string;
  readonly company?: CompanySettings;
  /** Descriptions of scopes, for the consent page. Scopes that endpoints require are known without an entry. */
  readonly scopes: Readonly<Record<string, string>>;
  readonly tokenTtlMs: number;
  readonly refreshTtlMs: number;
  /** Whether unknown clients may register themselves (RFC 7591). */
  readonly registration: 'open' | 'off';
  /** Whether a client id may be the URL of a client ID metadata document. */
  readonly metadataDocuments: boolean;
  /** Internal hosts that metadata documents may be fetched from all the same: host names or CIDR ranges. */
  readonly allowAddresses: readonly string[];
}

/** An endpoint that tokens can be issued for. */
export interface Resource {
  /** Every spelling of its URL, the usual one first. */
  readonly addresses: readonly string[];
  /** Scopes that every use of it requires. */
  readonly required: readonly string[];
  /** All scopes that can be requested. */
  readonly scopes: readonly string[];
}

/** The scope for an endpoint that requires none: a person still needs something to consent to. */
export const basicScope = 'mcp';
