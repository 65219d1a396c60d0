/** What a principal has at the backends that want a person's consent. For pages: no token is in it. */
import type { Principal } from '../../identity/principal.ts';
import type { OAuthBackend } from './acquire.ts';
import { type Consent, type ConsentStore, consentIn } from './consent-store.ts';
import { isFresh, type StoredTokens, type TokenShelf } from './tokens.ts';

export interface BackendAccount {
  readonly backend: string;
  /** `pending`: the consent page is open. `unknown`: the records cannot be read at the moment. */
  readonly state: 'connected' | 'pending' | 'none' | 'unknown';
  /** One account for all people, for which the person who runs the gateway consents. */
  readonly shared: boolean;
  /** The authorization server. */
  readonly issuer?: string;
  /** When the token was issued, in milliseconds since 1970. */
  readonly since?: number;
  readonly scopes?: readonly string[];
  /** The open consent. Its id leads to the page, so only its person may see it. */
  readonly pending?: Consent;
}

export interface AccountBooks {
  readonly shelf: TokenShelf;
  readonly book: ConsentStore;
  readonly now: () => number;
}

/** Never rejects. */
export async function accountAt(
  { name, settings }: OAuthBackend,
  account: string,
  principal: Principal,
  { shelf, book, now }: AccountBooks,
): Promise<BackendAccount> {
  const own = { backend: name, shared: settings.auth.shared };
  try {
    const [stored, flow] = await Promise.all([shelf.get(account), book.latest(account, principal.key)]);
    const pending = flow && consentIn(flow);
    if (stored !== undefined && isUsable(stored.value, now())) {
      const { server, granted, asked, access } = stored.value;
      const since = access && { since: access.at };
      return { ...own, state: 'connected', issuer: server.issuer, scopes: granted ?? asked, ...since };
    }
    return pending === undefined
      ? { ...own, state: 'none' }
      : { ...own, state: 'pending', issuer: pending.issuer, pending };
  } catch {
    return { ...own, state: 'unknown' };
  }
}

function isUsable({ access, refresh }: StoredTokens, now: number): boolean {
  return refresh !== undefined || (access !== undefined && isFresh(access, now, true));
}
