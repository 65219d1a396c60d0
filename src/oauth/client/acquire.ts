/** Obtains tokens from a discovered authorization server, or asks for a person's consent to them. */
import { Failure } from '../../errors/failure.ts';
import type { Principal } from '../../identity/principal.ts';
import type { AccountPorts } from './account.ts';
import { redirectUri } from './client-document.ts';
import type { ConsentRequest } from './consent-store.ts';
import type { DiscoveredServer } from './discovery.ts';
import { type MachineGrant, machineGrants } from './grants.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { credentialLimits } from './limits.ts';
import { checkCodeGrant } from './server-metadata.ts';
import { type BackendAuthSettings, consentPageUrl, isDerived } from './settings.ts';
import { GrantRefused } from './token-endpoint.ts';
import { type StoredTokens, tokensOf } from './tokens.ts';

export interface OAuthBackend {
  readonly name: string;
  readonly settings: BackendAuthSettings;
  readonly guardedFetch: GuardedFetch;
}

export interface TokenSubject {
  readonly principal: Principal;
  readonly subjectToken: string | undefined;
}

export interface TokenDemand {
  readonly account: string;
  readonly backend: OAuthBackend;
  readonly caller: TokenSubject;
  readonly found: DiscoveredServer;
  readonly scopes: readonly string[];
}

/** Rejects with `consent_needed` if a person has to consent. */
export async function acquire(wanted: TokenDemand, ports: AccountPorts): Promise<StoredTokens> {
  const { grant } = wanted.backend.settings.auth;
  if (grant !== 'authorization_code') return byMachine(wanted, ports, grant);
  checkCodeGrant(wanted.found.server);
  throw await consentNeeded(wanted, ports);
}

async function consentNeeded(wanted: TokenDemand, ports: AccountPorts): Promise<Failure> {
  const { account, backend, caller, found } = wanted;
  const client = await ports.registrations.clientFor(backend, found.server);
  const request: ConsentRequest = { ...wanted, client, redirectUri: redirectUri(ports.publicUrl) };
  const { book, turns } = ports;
  const name = `consent/${account}/${caller.principal.key}`;
  const flow = await turns.once(
    name,
    () => book.open(request),
    () => book.begin(request),
  );
  const url = consentPageUrl(ports.publicUrl, flow.id);
  return new Failure('consent_needed', { data: { backend: backend.name, url, elicitationId: flow.id } });
}

async function byMachine(wanted: TokenDemand, ports: AccountPorts, grant: MachineGrant): Promise<StoredTokens> {
  const { backend, caller, found, scopes } = wanted;
  const { server, resource } = found;
  const { auth } = backend.settings;
  for (let mayRegisterAnew = true; ; mayRegisterAnew = false) {
    const client = await ports.registrations.clientFor(backend, server);
    try {
      const asking = { guardedFetch: backend.guardedFetch, server, client, auth };
      const granted = await machineGrants[grant]({ ...asking, resource, scopes, subjectToken: caller.subjectToken });
      const now = ports.time.now();
      const until = isDerived(auth) ? (caller.principal.expiresAt ?? now + credentialLimits.derivedMs) : undefined;
      return tokensOf(granted, { server, client, resource, asked: scopes, until }, now);
    } catch (error) {
      if (!(error instanceof GrantRefused)) throw error;
      if (error.code !== 'invalid_client' || client.kind !== 'registered' || !mayRegisterAnew) throw error.failure();
      await ports.registrations.forget(server.issuer, client);
    }
  }
}
