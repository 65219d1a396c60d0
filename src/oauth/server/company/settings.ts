/** The provider that people sign in at, validated and complete. */
import type { OpenIdClient } from '../../openid/provider.ts';

export interface CompanySettings extends OpenIdClient {
  /** On buttons and pages. */
  readonly name: string;
  /** Undefined: `openid profile`, and `offline_access` where the provider has it. */
  readonly scopes?: readonly string[];
  /** Further parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly groupsClaim: string;
  /** Claims that the ID token must have, each with one of these values. */
  readonly require: Readonly<Record<string, readonly string[]>>;
}
