/** Assembles the OAuth client towards backends. */
import { hash } from 'node:crypto';
import { BoundedMap } from '../../exchange/bounded-map.ts';
import type { Principal } from '../../identity/principal.ts';
import { Account, type AccountPorts } from './account.ts';
import { accountAt, type BackendAccount } from './accounts.ts';
import type { OAuthBackend, TokenSubject } from './acquire.ts';
import { ConsentService } from './consent-service.ts';
import { ConsentStore } from './consent-store.ts';
import type { CredentialProvider } from './credential-provider.ts';
import { GuardedFetch } from './guarded-fetch.ts';
import { credentialLimits } from './limits.ts';
import type { CredentialPorts } from './ports.ts';
import { Registrations } from './registration.ts';
import { type CredentialSettings, consentPageUrl, isDerived } from './settings.ts';
import { SingleFlight } from './single-flight.ts';
import { tokenShelf } from './tokens.ts';

export interface OAuthCredentials {
  /**
   * Undefined if the backend has no `auth`. `subjectToken`: the token that the principal presented to us, for token
   * exchange.
   */
  credentialProviderFor(backend: string, principal: Principal, subjectToken?: string): CredentialProvider | undefined;
  readonly consents: ConsentService;
  /** What the principal has at each backend for which people consent. Never rejects. */
  accountsOf(principal: Principal): Promise<readonly BackendAccount[]>;
  /** Where the principal consents, if the backend has asked for that and not got it. Never rejects. */
  pendingPage(backend: string, principal: Principal): Promise<string | undefined>;
  /** Deletes the principal's tokens and our stored registration, so that the next connection registers again. */
  forget(backend: string, principal: Principal): Promise<void>;
  close(): void;
}

/** Bus topics. The message is the account whose stored tokens changed, by a person's consent or otherwise. */
const changed = 'credentials/changed';
const consented = 'credentials/consented';

export function createCredentials(settings: CredentialSettings, outside: CredentialPorts): OAuthCredentials {
  const { publicUrl } = settings;
  const { records, bus, time, warn } = outside;
  const shelf = tokenShelf(records);
  const turns = new SingleFlight(outside);
  const registrations = new Registrations(records, turns, time, publicUrl);
  const book = new ConsentStore(records, time);
  const announce = (account: string) => bus.publish(changed, account);
  const ports: AccountPorts = { publicUrl, shelf, turns, registrations, book, time, warn, announce };
  const backends = new Map<string, OAuthBackend>(
    Object.entries(settings.backends).map(([name, auth]) => [
      name,
      { name, settings: auth, guardedFetch: new GuardedFetch(auth, outside) },
    ]),
  );
  // An evicted account is read from the store again. One that is busy stays.
  const accounts = new BoundedMap<Account>(credentialLimits.accounts, ({ busy }) => !busy);
  const accountOf = (key: string, backend: OAuthBackend) => {
    const known = accounts.get(key);
    if (known !== undefined) return known;
    const account = new Account(key, backend, ports);
    accounts.set(key, account);
    return account;
  };
  const listening = [
    bus.subscribe(changed, (key) => accounts.get(key)?.unsettle()),
    bus.subscribe(consented, (key) => accounts.get(key)?.consented()),
  ];

  const books = { shelf, book, now: () => time.now() };
  const stateAt = (backend: OAuthBackend, principal: Principal) =>
    accountAt(backend, accountKey(backend, { principal, subjectToken: undefined }), principal, books);

  return {
    credentialProviderFor(name, principal, subjectToken) {
      const backend = backends.get(name);
      if (backend === undefined) return undefined;
      const caller: TokenSubject = { principal, subjectToken };
      const key = accountKey(backend, caller);
      return {
        headers: () => accountOf(key, backend).headers(),
        refused: (refusal) => accountOf(key, backend).refused(caller, refusal),
      };
    },
    consents: new ConsentService({
      ...{ book, shelf, registrations, outside },
      announce: (account) => bus.publish(consented, account),
      backendOf: ({ backend: name, url }) => {
        const backend = backends.get(name);
        return backend?.settings.url === url ? backend : undefined;
      },
    }),
    accountsOf: (principal) =>
      Promise.all([...backends.values()].filter(hasConsent).map((backend) => stateAt(backend, principal))),
    pendingPage: async (name, principal) => {
      const backend = backends.get(name);
      // The person who runs the gateway consents to a shared account, for all.
      if (backend === undefined || !hasConsent(backend) || backend.settings.auth.shared) return undefined;
      const { pending } = await stateAt(backend, principal);
      return pending && consentPageUrl(publicUrl, pending.id);
    },
    async forget(name, principal) {
      const backend = backends.get(name);
      if (backend === undefined) return;
      const key = accountKey(backend, { principal, subjectToken: undefined });
      const tokens = await shelf.get(key);
      if (tokens !== undefined) await registrations.forget(tokens.value.server.issuer, tokens.value.client);
      await shelf.delete(key);
      await announce(key);
    },
    close() {
      for (const stop of listening) stop();
    },
  };
}

function hasConsent({ settings }: OAuthBackend): boolean {
  return settings.auth.grant === 'authorization_code';
}

/**
 * Includes the URL: tokens for one URL are never sent to a different one, whatever name the config gives the backend.
 */
function accountKey(
  { name, settings: { url, auth } }: OAuthBackend,
  { principal, subjectToken }: TokenSubject,
): string {
  const who = auth.shared ? 'all' : principal.key;
  return JSON.stringify([
    name,
    url,
    who,
    ...(isDerived(auth) && subjectToken !== undefined ? [hash('sha256', subjectToken, 'base64url')] : []),
  ]);
}
